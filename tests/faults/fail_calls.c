/* fail_calls LOG KIND AT MANY PROGRAM ARGUMENT...: runs a program in which one system call fails, as from a disk, a
 * limit or a signal.
 *
 * Calls are counted from 0 where the program begins (its entry, after the dynamic linker), over all threads. KIND:
 *   list   no call fails; LOG gets a line "NUMBER NAME FIRST-ARGUMENT THIRD-ARGUMENT" per call, for the caller to
 *          choose from
 *   error  call AT is not made; it fails as its kind does: ENOSPC to write, EACCES to open, ENOMEM for memory, else EIO
 *   eintr  the same with EINTR
 *   short  call AT reads or writes half of what it is asked for
 * MANY: 1, or more for all calls of this name from AT on. LOG gets the line of the call that failed. The exit status is
 * that of the program; 128 + N after signal N. 77 where calls cannot be traced. x86-64 only, for its registers. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__ && defined __linux__
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { LIST, ERROR, EINTR_KIND, SHORT, TRACED = 256 };
/* What the kernel cannot refuse, or what ends the process; a futex that fails is an error of the C library. */
static const long never[] = {SYS_exit,           SYS_exit_group, SYS_rt_sigreturn,    SYS_futex,
                             SYS_rt_sigprocmask, SYS_getpid,     SYS_gettid,          SYS_getuid,
                             SYS_geteuid,        SYS_umask,      SYS_set_robust_list, SYS_rseq,
                             SYS_tgkill,         SYS_kill,       SYS_restart_syscall, SYS_set_tid_address};

static struct {
    long nr;
    const char *name;
    int error;
    bool interrupted, partial;
} calls[] = {
    {SYS_read, "read", EIO, true, true},
    {SYS_write, "write", ENOSPC, true, true},
    {SYS_pread64, "pread", EIO, true, true},
    {SYS_pwrite64, "pwrite", ENOSPC, true, true},
    {SYS_writev, "writev", ENOSPC, true, false},
    {SYS_openat, "openat", EACCES, true, false},
    {SYS_open, "open", EACCES, true, false},
    {SYS_close, "close", EIO, false, false},
    {SYS_mmap, "mmap", ENOMEM, false, false},
    {SYS_brk, "brk", ENOMEM, false, false},
    {SYS_mremap, "mremap", ENOMEM, false, false},
    {SYS_mprotect, "mprotect", ENOMEM, false, false},
    {SYS_clone3, "clone3", EAGAIN, false, false},
    {SYS_clone, "clone", EAGAIN, false, false},
    {SYS_ftruncate, "ftruncate", ENOSPC, true, false},
    {SYS_fallocate, "fallocate", ENOSPC, true, false},
    {SYS_fsync, "fsync", EIO, true, false},
    {SYS_flock, "flock", ENOLCK, true, false},
    {SYS_fcntl, "fcntl", EINVAL, true, false},
    {SYS_poll, "poll", EINVAL, true, false},
    {SYS_ppoll, "ppoll", EINVAL, true, false},
    {SYS_nanosleep, "nanosleep", EINVAL, true, false},
    {SYS_clock_nanosleep, "clock_nanosleep", EINVAL, true, false},
    {SYS_newfstatat, "fstatat", EIO, false, false},
    {SYS_stat, "stat", EIO, false, false},
    {SYS_fstat, "fstat", EIO, false, false},
    {SYS_lstat, "lstat", EIO, false, false},
    {SYS_rename, "rename", EIO, false, false},
    {SYS_renameat2, "renameat2", EIO, false, false},
    {SYS_link, "link", EIO, false, false},
    {SYS_linkat, "linkat", EIO, false, false},
    {SYS_unlink, "unlink", EIO, false, false},
    {SYS_mkdir, "mkdir", ENOSPC, false, false},
    {SYS_getdents64, "getdents", EIO, false, false},
    {SYS_lseek, "lseek", EIO, false, false},
    {SYS_readlink, "readlink", EIO, false, false},
    {SYS_munmap, "munmap", ENOMEM, false, false},
    {SYS_ioctl, "ioctl", EIO, false, false},
    {SYS_rt_sigaction, "sigaction", EINVAL, false, false},
    {SYS_madvise, "madvise", ENOMEM, false, false},
    {SYS_sched_getaffinity, "sched_getaffinity", EINVAL, false, false},
    {SYS_getcwd, "getcwd", ENOENT, false, false},
    {SYS_fchmod, "fchmod", EPERM, false, false},
    {SYS_access, "access", EIO, false, false},
    {SYS_prlimit64, "prlimit", EINVAL, false, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static int find(long nr) {
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].nr == nr) {
            return i;
        }
    }
    return -1;
}

static bool can_fail(long nr) {
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        if (never[i] == nr) {
            return false;
        }
    }
    return true;
}

/* Runs to the entry of the program, so that the dynamic linker and its errors are not part of it. */
static bool to_entry(pid_t child) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)child);
    FILE *f = fopen(path, "rb");
    Elf64_auxv_t pair;
    unsigned long entry = 0;
    while (f && fread(&pair, sizeof pair, 1, f) == 1) {
        entry = pair.a_type == AT_ENTRY ? pair.a_un.a_val : entry;
    }
    if (f) {
        fclose(f);
    }
    errno = 0;
    const long text = ptrace(PTRACE_PEEKTEXT, child, (void *)entry, NULL);
    if (!entry || errno || ptrace(PTRACE_POKETEXT, child, (void *)entry, (void *)((text & ~0xffL) | 0xcc)) != 0 ||
        ptrace(PTRACE_CONT, child, NULL, NULL) != 0) {
        return false;
    }
    int status;
    struct user_regs_struct r;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
        ptrace(PTRACE_GETREGS, child, NULL, &r) != 0) {
        return false;
    }
    r.rip = entry;
    return ptrace(PTRACE_POKETEXT, child, (void *)entry, (void *)text) == 0 &&
           ptrace(PTRACE_SETREGS, child, NULL, &r) == 0;
}

typedef struct plan {
    int kind;
    long at, many, made;
    long nr; /* of the call that has failed first, or -1 */
    FILE *log;
} plan;

/* first, third: the registers that were changed; a call leaves them as they are. */
static struct {
    pid_t thread;
    bool inside, changed;
    int error;
    unsigned long long first, third;
} traced[TRACED];

static int slot_of(pid_t thread) {
    int free_one = 0;
    for (int i = 0; i < TRACED; i++) {
        if (traced[i].thread == thread) {
            return i;
        }
        free_one = traced[i].thread == 0 ? i : free_one;
    }
    traced[free_one].thread = thread;
    traced[free_one].inside = traced[free_one].changed = false;
    traced[free_one].error = 0;
    return free_one;
}

static void note(const plan *p, long nr, const struct user_regs_struct *r) {
    const int i = find(nr);
    fprintf(p->log, "%ld %s %lld %lld %d %d\n", p->made, i < 0 ? "other" : calls[i].name, (long long)r->rdi,
            (long long)r->rdx, i >= 0 && calls[i].interrupted, i >= 0 && calls[i].partial);
}

/* At the entry of a call: decides, and changes what the kernel sees of it. */
static void enter(plan *p, pid_t thread, int slot) {
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, thread, NULL, &r) != 0) {
        return;
    }
    const long nr = (long)r.orig_rax;
    traced[slot].error = 0;
    if (!can_fail(nr)) {
        return;
    }
    const int i = find(nr);
    const bool now = p->kind != LIST && (p->made == p->at || (p->nr == nr && p->many > 1));
    if (p->kind == LIST || p->made == p->at) {
        note(p, nr, &r);
    }
    p->made++;
    if (!now) {
        return;
    }
    p->nr = nr;
    traced[slot].changed = true;
    traced[slot].first = r.rdi;
    traced[slot].third = r.rdx;
    if (p->kind == SHORT) {
        r.rdx = r.rdx > 1 ? r.rdx / 2 : r.rdx;
    } else if (nr == SYS_brk) {
        r.rdi = 0; /* the kernel answers a refused break with the old one */
    } else {
        traced[slot].error = p->kind == EINTR_KIND ? EINTR : i < 0 ? EIO : calls[i].error;
        r.orig_rax = (unsigned long)-1;
    }
    ptrace(PTRACE_SETREGS, thread, NULL, &r);
}

static void leave(pid_t thread, int slot) {
    struct user_regs_struct r;
    if (traced[slot].changed && ptrace(PTRACE_GETREGS, thread, NULL, &r) == 0) {
        traced[slot].changed = false;
        r.rax = traced[slot].error ? (unsigned long)-(long)traced[slot].error : r.rax;
        r.rdi = traced[slot].first;
        r.rdx = traced[slot].third;
        ptrace(PTRACE_SETREGS, thread, NULL, &r);
    }
}

static int follow(plan *p, pid_t child) {
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    for (;;) {
        int status, signal = 0;
        const pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) {
            return 1;
        }
        const int slot = slot_of(thread);
        if (!WIFSTOPPED(status)) {
            traced[slot].thread = 0;
            if (thread == child) {
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
            continue;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            traced[slot].inside = !traced[slot].inside;
            if (traced[slot].inside) {
                enter(p, thread, slot);
            } else {
                leave(thread, slot);
            }
        } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
            signal = WSTOPSIG(status);
        }
        ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(long)signal);
    }
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: fail_calls LOG list|error|eintr|short AT MANY PROGRAM ARGUMENT...\n");
        return 2;
    }
    plan p = {strcmp(argv[2], "list") == 0    ? LIST
              : strcmp(argv[2], "error") == 0 ? ERROR
              : strcmp(argv[2], "eintr") == 0 ? EINTR_KIND
                                              : SHORT,
              atol(argv[3]),
              atol(argv[4]),
              0,
              -1,
              fopen(argv[1], "we")};
    if (!p.log) {
        perror(argv[1]);
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(77);
        }
        execv(argv[5], argv + 5);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return 77;
    }
    if (!WIFSTOPPED(status)) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 77;
    }
    if (ptrace(PTRACE_SETOPTIONS, child, NULL,
               (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) != 0 ||
        !to_entry(child)) {
        kill(child, SIGKILL);
        return 77;
    }
    status = follow(&p, child);
    return fclose(p.log) == 0 ? status : 2;
}
#else
int main(void) {
    return 77;
}
#endif
