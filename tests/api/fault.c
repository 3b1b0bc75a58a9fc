#include "fault.h"

#include "base/mem.h"

void fault_after(long n)
{
    sl_mem_fail_after(n);
}
