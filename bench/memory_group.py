"""A memory cgroup of our own, v1 or v2, for running programs in less memory than the machine has."""
import os


class Group:
    """Inside this process' group; `path` is None where the system does not let us."""

    def __init__(self, limit):
        self.path = None
        with open("/proc/self/cgroup", encoding="ascii") as f:
            lines = [line.rstrip("\n").split(":", 2) for line in f]
        for _, controllers, path in lines:
            v1 = "memory" in controllers.split(",")
            if not v1 and controllers:
                continue
            mount = "/sys/fs/cgroup/memory" if v1 else "/sys/fs/cgroup"
            folder = f"{mount}{path.rstrip('/')}/sluice-test-{os.getpid()}"
            try:
                os.mkdir(folder)
                self.path = folder
                with open(f"{folder}/{'memory.limit_in_bytes' if v1 else 'memory.max'}", "w", encoding="ascii") as f:
                    f.write(str(limit))
                return
            except OSError:
                self.remove()

    def remove(self):
        if self.path:
            os.rmdir(self.path)
        self.path = None

    def enter(self):
        """In the child, before the program: what it takes from then on counts."""
        with open(f"{self.path}/cgroup.procs", "w", encoding="ascii") as f:
            f.write("0")
