/* fault.h - lets the library's n-th allocation fail, for programs that see nothing of it but the public headers. */
#ifndef TESTS_API_FAULT_H
#define TESTS_API_FAULT_H

/* n = 0: the next one, and all later ones; negative: none any more. */
void fault_after(long n);

#endif
