//! Batches: several messages in one line, whose answers go back in one line.
//!
//! Only revision 2025-03-26 of the protocol has batches. The messages are handled one by one; this
//! file collects the answers until the batch is complete. It reads and writes nothing.

use std::collections::HashSet;

use rmcp::model::RequestId;

/// Maximum of messages in a batch.
pub(super) const MOST: usize = 1_000;

/// The batches that are not completely answered.
#[derive(Debug, Default)]
pub(super) struct Batches(Vec<Batch>);

/// One batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Requests without an answer.
    awaited: HashSet<RequestId>,
    /// The answers so far, each a line.
    answers: Vec<Vec<u8>>,
}

impl Batch {
    /// Adds a request. Returns whether its id is new in the batch.
    pub(super) fn awaits(&mut self, id: RequestId) -> bool {
        self.awaited.insert(id)
    }

    /// Adds an answer that is known at once.
    pub(super) fn answer(&mut self, line: Vec<u8>) {
        self.answers.push(line);
    }

    /// The line with all answers, once no request is left. A batch of notifications has no answer.
    fn line(&self) -> Option<Vec<u8>> {
        if !self.awaited.is_empty() || self.answers.is_empty() {
            return None;
        }
        let answers: Vec<&[u8]> = self.answers.iter().map(|it| it.trim_ascii()).collect();
        Some([b"[", answers.join(&b',').as_slice(), b"]\n"].concat())
    }
}

impl Batches {
    /// Adds a batch. Returns its line if it is already complete.
    pub(super) fn begin(&mut self, batch: Batch) -> Option<Vec<u8>> {
        if batch.awaited.is_empty() {
            return batch.line();
        }
        self.0.push(batch);
        None
    }

    /// Takes the answer to a request and returns what to write now: the answer, if the request
    /// belongs to no batch; the line of the whole batch, if it is complete; otherwise nothing.
    pub(super) fn answered(&mut self, id: &RequestId, line: Vec<u8>) -> Option<Vec<u8>> {
        let Some(at) = self.0.iter().position(|it| it.awaited.contains(id)) else {
            return Some(line);
        };
        self.0[at].answer(line);
        self.settle(at, id)
    }

    /// Removes a cancelled request, which gets no answer. Returns what to write now.
    pub(super) fn cancelled(&mut self, id: &RequestId) -> Option<Vec<u8>> {
        let at = self.0.iter().position(|it| it.awaited.contains(id))?;
        self.settle(at, id)
    }

    fn settle(&mut self, at: usize, id: &RequestId) -> Option<Vec<u8>> {
        self.0[at].awaited.remove(id);
        if !self.0[at].awaited.is_empty() {
            return None;
        }
        self.0.remove(at).line()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    fn text(line: Option<Vec<u8>>) -> Option<String> {
        line.map(|it| String::from_utf8(it).unwrap())
    }

    #[test]
    fn a_batch_is_answered_when_its_last_request_is() {
        let mut batch = Batch::default();
        assert!(batch.awaits(id(1)) && batch.awaits(id(2)) && !batch.awaits(id(2)));
        let mut batches = Batches::default();
        assert_eq!(batches.begin(batch), None);
        assert_eq!(text(batches.answered(&id(7), b"7\n".to_vec())), Some("7\n".to_owned()));
        assert_eq!(batches.answered(&id(2), b"2\n".to_vec()), None);
        assert_eq!(text(batches.answered(&id(1), b"1\n".to_vec())), Some("[2,1]\n".to_owned()));
        assert_eq!(text(batches.answered(&id(1), b"1\n".to_vec())), Some("1\n".to_owned()));
    }

    #[test]
    fn what_was_cancelled_holds_no_batch_up() {
        let mut batch = Batch::default();
        batch.awaits(id(1));
        batch.awaits(id(2));
        let mut batches = Batches::default();
        batches.begin(batch);
        assert_eq!(batches.answered(&id(2), b"2\n".to_vec()), None);
        assert_eq!(text(batches.cancelled(&id(1))), Some("[2]\n".to_owned()));
        assert_eq!(batches.cancelled(&id(1)), None);
    }

    #[test]
    fn a_batch_of_notifications_is_not_answered() {
        assert_eq!(Batches::default().begin(Batch::default()), None);
    }
}
