//! Giving back memory that a process needs no more, for those who stay.
//!
//! Nothing here is needed: where it cannot be done, a process holds a little more.

/// Gives back the pages of the program itself that were read in until now. Most of them were needed to
/// start; what is needed again is still in the system's own memory, and is mapped again when it is used.
pub(crate) fn give_back_start() {
    #[cfg(target_os = "linux")]
    linux::give_back_code();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ops::Range;
    use std::{fs, ptr};

    use rustix::mm::{Advice, madvise};

    pub(super) fn give_back_code() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let program = fs::read_link("/proc/self/exe");
        let Some(program) = program.as_ref().ok().and_then(|it| it.to_str()) else { return };
        for code in maps.lines().filter_map(|line| code_of(line, program)) {
            let start = ptr::with_exposed_provenance_mut(code.start);
            #[expect(unsafe_code, reason = "the system is told about addresses")]
            // SAFETY: this is a private mapping of a file that was never writable, so a page that is
            // read again is what it was.
            let given = unsafe { madvise(start, code.len(), Advice::LinuxDontNeed) };
            // What is not given back is held.
            given.ok();
        }
    }

    /// The addresses of a mapping, if it is code of the program: `start-end r-xp offset device inode
    /// path`.
    fn code_of(line: &str, program: &str) -> Option<Range<usize>> {
        let mut fields = line.splitn(6, ' ');
        let (range, rights) = (fields.next()?, fields.next()?);
        let path = fields.nth(3)?.trim_start();
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        (rights == "r-xp" && path == program).then_some(address(start)?..address(end)?)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn code_is_what_can_be_run_and_never_written() {
            let check = |line: &str, expected: Option<Range<usize>>| {
                assert_eq!(code_of(line, "/a b/c"), expected, "{line}");
            };
            let code = Some(0x40_0000..0x40_2000);
            check("00400000-00402000 r-xp 00001000 fe:00 123      /a b/c", code);
            check("00400000-00402000 r--p 00001000 fe:00 123      /a b/c", None);
            check("00400000-00402000 rwxp 00001000 fe:00 123      /a b/c", None);
            check("00400000-00402000 r-xp 00001000 fe:00 123      /a b/c (deleted)", None);
            check("00400000-00402000 r-xp 00001000 fe:00 123      /a", None);
            check("7fff0000-7fff1000 r-xp 00000000 00:00 0        [vdso]", None);
            check("7fff0000-7fff1000 rw-p 00000000 00:00 0 ", None);
            check("x-y r-xp 0 0 0 /a b/c", None);
            check("", None);
        }

        #[test]
        fn a_program_goes_on_after_it_gave_back_its_code() {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            let program = fs::read_link("/proc/self/exe").unwrap();
            let program = program.to_str().unwrap();
            assert!(maps.lines().any(|line| code_of(line, program).is_some()), "{maps}");
            give_back_code();
            assert_eq!(fs::read_link("/proc/self/exe").unwrap().to_str(), Some(program));
        }
    }
}
