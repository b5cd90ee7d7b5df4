//! What is held back of a change until its last piece is there.

/// The length of what SQLite writes before each page of its log.
const HEADER: usize = 24;

/// When there is this much, it is written: by then a call to the system is no longer what takes the
/// time. The usual file system cannot write 128 KiB or more at once; it would say that the disk is full.
const MOST: usize = 64 * 1024;

/// The pieces of one change so far.
#[derive(Default)]
pub(super) struct Held {
    /// Where in the file the first of them belongs.
    start: u64,
    bytes: Vec<u8>,
    /// Set between the header of a page and the page: whether the page is the last of its change.
    page: Option<bool>,
    /// Where what was written last ends, corrected headers aside.
    end: u64,
}

/// What is to be done with a piece.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// Nothing yet.
    Held,
    /// Write it as it is.
    Alone,
    /// Write all that is held; it was the last.
    Together,
    /// It does not go on where the ones before it end: they can be neither written, because somebody
    /// else may have written there since, nor forgotten. None of them is held any longer.
    Refused,
}

impl Held {
    /// Takes a piece that belongs at `offset`.
    pub(super) fn take(&mut self, offset: u64, piece: &[u8]) -> Piece {
        let is_header = piece.len() == HEADER;
        if self.is_empty() {
            // A header before the end may be that of a page which is there already. If another
            // process has begun the log anew, it is the first of a new page, and goes alone as well.
            if is_header && offset >= self.end {
                self.start = offset;
                return self.hold_header(piece);
            }
            if !is_header {
                self.end = offset.saturating_add(length(piece));
            }
            return Piece::Alone;
        }
        if offset != self.start.saturating_add(length(&self.bytes)) {
            return self.refuse();
        }
        match self.page.take() {
            // SQLite may be told to tear pages at the disk's sectors. We do not tell it so, and the
            // rest of one could be taken for a header.
            Some(_) if !piece.len().is_power_of_two() => self.refuse(),
            Some(commits) => {
                self.bytes.extend_from_slice(piece);
                if commits || self.bytes.len() >= MOST { Piece::Together } else { Piece::Held }
            }
            None if is_header => self.hold_header(piece),
            None => self.refuse(),
        }
    }

    fn hold_header(&mut self, header: &[u8]) -> Piece {
        // After the page's number comes the size of the database, with the last page alone.
        self.page = Some(header.get(4..8).is_some_and(|it| it != [0; 4]));
        self.bytes.extend_from_slice(header);
        Piece::Held
    }

    /// Whether anything is held.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Gives what is held to `write`, with its place, and holds it no longer, whatever comes of it.
    pub(super) fn give<T>(&mut self, write: impl FnOnce(u64, &[u8]) -> T) -> T {
        let written = write(self.start, &self.bytes);
        self.end = self.start.saturating_add(length(&self.bytes));
        self.bytes.clear();
        written
    }

    /// Forgets what is held.
    pub(super) fn refuse(&mut self) -> Piece {
        self.bytes.clear();
        self.page = None;
        Piece::Refused
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 512;
    const FRAME: u64 = 24 + PAGE;

    /// A header, of the last page of a change or not.
    fn header(commits: bool) -> [u8; HEADER] {
        let mut header = [7; HEADER];
        header[4..8].copy_from_slice(&u32::from(commits).to_be_bytes());
        header
    }

    /// What comes of the two pieces of a page.
    fn page(held: &mut Held, at: u64, commits: bool) -> [Piece; 2] {
        [held.take(at, &header(commits)), held.take(at + 24, &[1; 512])]
    }

    /// What there is to write, and where.
    fn given(held: &mut Held) -> (u64, u64) {
        held.give(|at, bytes| (at, length(bytes)))
    }

    #[test]
    fn the_pages_of_a_change_are_written_together() {
        let mut held = Held::default();
        assert_eq!(held.take(0, &[3; 32]), Piece::Alone, "the beginning of a log");
        assert_eq!(page(&mut held, 32, false), [Piece::Held, Piece::Held]);
        assert_eq!(page(&mut held, 32 + FRAME, true), [Piece::Held, Piece::Together]);
        assert_eq!(given(&mut held), (32, 2 * FRAME));
        assert!(held.is_empty());
        // And the next change after it, though another process has written one in between.
        assert_eq!(page(&mut held, 32 + 5 * FRAME, true), [Piece::Held, Piece::Together]);
        assert_eq!(given(&mut held), (32 + 5 * FRAME, FRAME));
    }

    #[test]
    fn a_log_that_another_process_has_begun_anew_is_written_as_well() {
        let mut held = Held::default();
        page(&mut held, 32 + 90 * FRAME, true);
        given(&mut held);
        assert_eq!(page(&mut held, 32 + FRAME, false), [Piece::Alone, Piece::Alone]);
        assert_eq!(page(&mut held, 32 + 2 * FRAME, true), [Piece::Held, Piece::Together]);
        assert_eq!(given(&mut held), (32 + 2 * FRAME, FRAME));
    }

    /// Pages may be of any size that SQLite has, and no write as long as it cannot be made at once.
    #[test]
    fn no_write_is_too_long_for_the_usual_file_system() {
        for page in (9..=16).map(|it| vec![1; 1 << it]) {
            let (mut held, mut at, mut longest) = (Held::default(), 32, 0);
            for _ in 0..300 {
                held.take(at, &header(false));
                if held.take(at + 24, &page) == Piece::Together {
                    longest = longest.max(given(&mut held).1);
                }
                at += 24 + length(&page);
            }
            assert!((64 << 10..128 << 10).contains(&longest), "{} of {longest}", page.len());
        }
    }

    #[test]
    fn a_long_change_is_written_in_parts() {
        let mut held = Held::default();
        let mut parts = Vec::new();
        for n in 0..300 {
            let [_, page] = page(&mut held, 32 + n * FRAME, n == 299);
            if page == Piece::Together {
                parts.push(given(&mut held));
            }
        }
        assert!(held.is_empty());
        assert!(parts.len() > 1 && parts.iter().all(|it| it.1 < 70_000), "{parts:?}");
        assert_eq!(parts.iter().map(|it| it.1).sum::<u64>(), 300 * FRAME);
    }

    /// SQLite computes the headers of a change again if it had to write a page of it twice.
    #[test]
    fn headers_that_are_corrected_afterwards_are_not_held() {
        let mut held = Held::default();
        page(&mut held, 32, false);
        page(&mut held, 32 + FRAME, false);
        page(&mut held, 32 + 2 * FRAME, true);
        given(&mut held);
        for n in 0..3 {
            assert_eq!(held.take(32 + n * FRAME, &header(n == 2)), Piece::Alone);
            assert!(held.is_empty());
        }
        assert_eq!(page(&mut held, 32 + 3 * FRAME, true), [Piece::Held, Piece::Together]);
    }

    #[test]
    fn what_does_not_go_on_where_it_should_is_refused_and_forgotten() {
        type Odd = fn(&mut Held) -> Piece;
        let odd: [(&str, Odd); 5] = [
            ("a page elsewhere", |held| held.take(9 * FRAME, &[1; 512])),
            ("a header elsewhere", |held| held.take(9 * FRAME, &header(true))),
            ("no header", |held| held.take(32 + FRAME, &[1; 512])),
            ("a piece of a page", |held| {
                held.take(32 + FRAME, &header(true));
                held.take(32 + FRAME + 24, &[1; 100])
            }),
            ("no page", |held| {
                held.take(32 + FRAME, &header(false));
                held.take(32 + 2 * FRAME, &header(false))
            }),
        ];
        for (name, odd) in odd {
            let mut held = Held::default();
            page(&mut held, 32, false);
            assert_eq!(odd(&mut held), Piece::Refused, "{name}");
            assert!(held.is_empty(), "{name}");
            assert_eq!(page(&mut held, 32, true), [Piece::Held, Piece::Together], "{name}");
        }
    }
}
