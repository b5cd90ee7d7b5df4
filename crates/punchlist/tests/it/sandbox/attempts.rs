//! What commands try in the sandbox: attempts to leave it, and ordinary work.

/// An attempt to leave the sandbox. The line exits with 0 if it succeeded.
pub(super) struct Attempt {
    pub(super) what: &'static str,
    pub(super) line: &'static str,
    /// Whether only root can do it outside the sandbox.
    pub(super) needs_root: bool,
    /// Whether it succeeds on every machine without the sandbox.
    pub(super) works_outside: bool,
}

const fn attempt(what: &'static str, line: &'static str) -> Attempt {
    Attempt { what, line, needs_root: false, works_outside: true }
}

const fn by_root(what: &'static str, line: &'static str) -> Attempt {
    Attempt { what, line, needs_root: true, works_outside: true }
}

/// An attempt that may fail for other reasons without the sandbox.
const fn perhaps(what: &'static str, line: &'static str) -> Attempt {
    Attempt { what, line, needs_root: false, works_outside: false }
}

/// The number of a system call on this machine.
const fn either(x86_64: &'static str, others: &'static str) -> &'static str {
    if cfg!(target_arch = "x86_64") { x86_64 } else { others }
}

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("create a file", "echo x > \"$OUT/new\""),
    attempt("append to a file", "echo x >> \"$OUT/file\""),
    attempt("truncate a file by opening it", ": > \"$OUT/file\""),
    attempt("truncate a file by its name", "perl -e 'truncate(\"$ENV{OUT}/file\", 0) or die $!'"),
    attempt("remove a file", "rm \"$OUT/file\""),
    attempt("remove a directory", "rmdir \"$OUT/empty\""),
    attempt("create a directory", "mkdir \"$OUT/new\""),
    attempt("create a symbolic link", "ln -s x \"$OUT/new\""),
    attempt("create a named pipe", "mkfifo \"$OUT/new\""),
    attempt("rename a file", "mv \"$OUT/file\" \"$OUT/new\""),
    attempt("move a file in", "perl -e 'rename(\"$ENV{OUT}/file\", \"taken\") or die $!'"),
    attempt("move a file out", "perl -e 'rename(\"file\", \"$ENV{OUT}/new\") or die $!'"),
    attempt("exchange by copying", "cp file \"$OUT/file\""),
    attempt(
        "write through a new hard link",
        "perl -e 'link(\"$ENV{OUT}/file\", \"mine\") or die $!' && echo x > mine",
    ),
    attempt("write through a symbolic link", "ln -s \"$OUT/file\" way && echo x > way"),
    attempt("write below a linked directory", "ln -s \"$OUT\" way && echo x > way/new"),
    attempt("write by a path with dots", "echo x > ../outside/new"),
    attempt("write the home directory", "echo x > \"$HOME/new\""),
    attempt("write beside the temporary directory", "cd \"$TMPDIR\" 2>/dev/null; : > \"$OUT/new\""),
    attempt("write /tmp", "f=/tmp/punchlist-attempt-$$; echo x > $f && rm $f"),
    attempt("write /var/tmp", "f=/var/tmp/punchlist-attempt-$$; echo x > $f && rm $f"),
    attempt("write by a child of a child", "sh -c 'sh -c \"echo x > \\\"\\$OUT/new\\\"\"'"),
    attempt(
        "write from another session",
        "setsid sh -c 'echo x > \"$OUT/new\"'; test -e \"$OUT/new\"",
    ),
    attempt(
        "write from an orphan",
        "(sh -c 'echo x > \"$OUT/new\"; echo > end' &); for i in $(seq 500); do test -e end && break; sleep 0.01; done; test -e \"$OUT/new\"",
    ),
    attempt(
        "open a file again by its descriptor",
        "exec 8< \"$OUT/file\"; echo x > /proc/self/fd/8",
    ),
    // The network.
    attempt(
        "connect to a TCP port",
        "perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0) or die $!; connect(S, pack_sockaddr_in($ENV{TCP}, INADDR_LOOPBACK)) or die $!'",
    ),
    attempt(
        "listen on a TCP port",
        "perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0) or die $!; bind(S, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die $!; listen(S, 1) or die $!'",
    ),
    attempt(
        "send a UDP datagram, as for DNS",
        "perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0) or die $!; send(S, \"x\", 0, pack_sockaddr_in($ENV{UDP}, INADDR_LOOPBACK)) or die $!'",
    ),
    perhaps(
        "create an IPv6 socket",
        "perl -MSocket -e 'socket(S, AF_INET6, SOCK_STREAM, 0) or die $!'",
    ),
    attempt("create a netlink socket", "perl -MSocket -e 'socket(S, 16, SOCK_RAW, 0) or die $!'"),
    by_root("create a packet socket", "perl -MSocket -e 'socket(S, 17, SOCK_RAW, 0) or die $!'"),
    perhaps("create a vsock socket", "perl -MSocket -e 'socket(S, 40, SOCK_STREAM, 0) or die $!'"),
    attempt(
        "connect to a UNIX socket",
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!; connect(S, pack_sockaddr_un(\"$ENV{OUT}/stream\")) or die $!'",
    ),
    attempt(
        "connect to an abstract UNIX socket",
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!; connect(S, pack(\"S a*\", AF_UNIX, \"\\0$ENV{NAME}\")) or die $!'",
    ),
    attempt(
        "send a datagram to a UNIX socket",
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0) or die $!; send(S, \"x\", 0, pack_sockaddr_un(\"$ENV{OUT}/datagram\")) or die $!'",
    ),
    attempt(
        "send a datagram from one of a pair to a UNIX socket",
        "perl -MSocket -e 'socketpair(S, T, AF_UNIX, SOCK_DGRAM, 0) or die $!; send(S, \"x\", 0, pack_sockaddr_un(\"$ENV{OUT}/datagram\")) or die $!'",
    ),
    // Other processes.
    attempt("signal a process", "kill -CONT \"$VICTIM\""),
    attempt("signal the guardian", "kill -CONT \"$PPID\""),
    attempt("read the environment of a process", "grep -q CANARY \"/proc/$VICTIM/environ\""),
    attempt("read the memory of a process", ": < \"/proc/$VICTIM/mem\""),
    attempt("write the memory of a process", ": <> \"/proc/$VICTIM/mem\""),
    attempt("enter the directory of a process", "ls \"/proc/$VICTIM/cwd/\" > /dev/null"),
    attempt("see the open files of a process", "readlink \"/proc/$VICTIM/fd/0\" > /dev/null"),
    attempt("see the memory map of a process", "test -n \"$(cat \"/proc/$VICTIM/maps\")\""),
    attempt(
        "trace a process",
        either(
            "perl -e 'syscall(101, 0x4206, $ENV{VICTIM} + 0, 0, 0) == 0 or die $!'",
            "perl -e 'syscall(117, 0x4206, $ENV{VICTIM} + 0, 0, 0) == 0 or die $!'",
        ),
    ),
    // System calls that would lead around the others. Allowed, they fail because of their arguments.
    perhaps("set up io_uring", "perl -e 'syscall(425, 1, 0); exit($!{EPERM} ? 1 : 0)'"),
    perhaps("use io_uring", "perl -e 'syscall(426, -1, 0, 0, 0, 0, 0); exit($!{EPERM} ? 1 : 0)'"),
    perhaps(
        "read the user's keyring",
        either(
            "perl -e 'syscall(250, 0, -4, 1); exit($!{EPERM} ? 1 : 0)'",
            "perl -e 'syscall(219, 0, -4, 1); exit($!{EPERM} ? 1 : 0)'",
        ),
    ),
    perhaps(
        "create a socket by the x32 table",
        either("perl -e 'syscall(0x40000029, 2, 1, 0); exit($!{EPERM} ? 1 : 0)'", "false"),
    ),
    perhaps(
        "create a socket by the 32-bit table",
        either(
            "echo 'int main() { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(359), \"b\"(2), \"c\"(1), \"d\"(0)); return r < 0; }' > a.c && cc -o a.out a.c && ./a.out",
            "false",
        ),
    ),
    perhaps(
        "type into a terminal",
        "perl -e 'my $c = \"x\"; ioctl(STDOUT, 0x5412, $c); exit($!{EPERM} ? 1 : 0)'",
    ),
    by_root("create a disk", "mknod disk b 7 0"),
    by_root("read the kernel's log", "dmesg > /dev/null"),
    by_root(
        "use capabilities",
        "test \"$(grep CapEff /proc/self/status | cut -f2)\" != 00000000000000fb",
    ),
    attempt("gain rights", "test \"$(grep NoNewPrivs /proc/self/status | tr -dc 0-9)\" = 0"),
    Attempt { works_outside: false, ..by_root("mount a file system", "mount -t tmpfs none sub") },
    Attempt {
        works_outside: false,
        ..attempt("mount in a namespace", "unshare -rm mount -t tmpfs none sub")
    },
    Attempt {
        works_outside: false,
        ..by_root("change a setting of the kernel", "echo 1 > /proc/sys/vm/drop_caches")
    },
];

pub(super) const WORK: &[(&str, &str)] = &[
    ("write files", "echo x > new && echo y >> file && : > sub/a && test \"$(cat new)\" = x"),
    ("change files", "mv file sub/moved && ln sub/moved linked && rm linked && rm -r sub"),
    (
        "make links, pipes and directories",
        "ln -s new way && mkfifo pipe && mkdir -p a/b/c && chmod 755 a",
    ),
    ("read what is outside", "test \"$(cat \"$OUT/file\")\" = kept && ls / > /dev/null"),
    (
        "use devices",
        "echo x > /dev/null && head -c 4 /dev/urandom > bytes && echo x 2> /dev/null >&2",
    ),
    ("write to the output by its name", "echo x > /dev/stdout && echo x > /dev/stderr"),
    (
        "use temporary files",
        "f=$(mktemp) && echo x > $f && d=$(mktemp -d) && mv $f $d/f && cat $d/f",
    ),
    (
        "move a file from the temporary directory",
        "f=$(mktemp) && echo x > $f && mv $f new && cat new",
    ),
    ("use pipes and background processes", "seq 100 | tail -1 & wait; sleep 0.01 & kill $!; wait"),
    (
        "talk between its own processes",
        "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die $!; syswrite(A, \"x\"); sysread(B, $x, 1); $x eq \"x\" or die' || ! command -v perl",
    ),
    (
        "commit",
        "! command -v git > /dev/null || { git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm x; }",
    ),
    (
        "compile",
        "! command -v cc > /dev/null || { echo 'int main(){return 0;}' > a.c && cc -o a.out a.c && ./a.out; }",
    ),
];
