//! System calls that a sandboxed process may not make, refused by a seccomp filter with EPERM.
//!
//! The filter sees numbers and not what pointers point to. So it refuses kinds of sockets, not
//! addresses: without `connect` and without datagram sockets, a process can reach no address.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

/// System calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    libc::SYS_connect,
    // It makes other system calls, past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The user's keys in the kernel.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // It opens files without a path, which Landlock needs.
    libc::SYS_open_by_handle_at,
];

/// The bits of a socket's type that are not flags.
const TYPE: u64 = 0xf;

/// The ioctls that type into a terminal. `libc` has them as another type on each system.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// Why seccomp cannot be used; `None` if it can.
pub(super) fn missing() -> Option<String> {
    if let Err(why) = filter() {
        return Some(format!("there is no filter of system calls for {ARCH}: {why}"));
    }
    let actions = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
    let has = actions.is_ok_and(|it| it.split_whitespace().any(|it| it == "errno"));
    (!has).then(|| "the kernel has no seccomp filters".to_owned())
}

/// Refuses the system calls for this process and all that it will start.
pub(super) fn restrict() -> Result<(), String> {
    let failed = |why: seccompiler::Error| format!("seccomp failed: {why}");
    let filter = filter().map_err(|why| failed(why.into()))?;
    if cfg!(target_arch = "x86_64") {
        apply_filter(&without_x32()).map_err(failed)?;
    }
    apply_filter(&filter).map_err(failed)
}

/// The filter. It kills a process that uses the system calls of another architecture, such as the
/// 32-bit ones, because these have other numbers.
fn filter() -> Result<BpfProgram, BackendError> {
    let unix = number(libc::AF_UNIX);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // Only streams between processes remain. A datagram socket, even one of a pair, could send to
    // any other one. `SOCK_RAW` is another name for it.
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        let refused = vec![
            argument(0, Ne, unix)?,
            argument(1, MaskedEq(TYPE), number(libc::SOCK_DGRAM))?,
            argument(1, MaskedEq(TYPE), number(libc::SOCK_RAW))?,
        ];
        rules.insert(call, refused);
    }
    rules.insert(libc::SYS_ioctl, vec![argument(1, Eq, TIOCSTI)?, argument(1, Eq, TIOCLINUX)?]);
    SeccompFilter::new(rules, SeccompAction::Allow, refusal(), TargetArch::try_from(ARCH)?)?
        .try_into()
}

/// Matches a system call by one of its arguments, which has 32 bits.
fn argument(index: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(index, Dword, is, value)?])
}

/// A second filter that refuses every system call of the x32 table: the same architecture as far as
/// seccomp knows, with numbers from this one on.
fn without_x32() -> [sock_filter; 4] {
    const FIRST: u32 = 0x4000_0000;
    let (load_number, jump_if_at_least, answer) = (0x20, 0x35, 0x06);
    let step = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    [
        step(load_number, 0),
        sock_filter { code: jump_if_at_least, jt: 0, jf: 1, k: FIRST },
        step(answer, refusal().into()),
        step(answer, SeccompAction::Allow.into()),
    ]
}

fn refusal() -> SeccompAction {
    SeccompAction::Errno(libc::EPERM.unsigned_abs())
}

fn number(constant: i32) -> u64 {
    constant.unsigned_abs().into()
}
