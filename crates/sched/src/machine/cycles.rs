//! Finds calls that depend on themselves, through others.

use std::ops::Range;

use super::Scheduler;
use crate::call::{CallId, Request};

impl Scheduler {
    /// The cycles among new calls.
    pub(super) fn circles(&self, calls: Range<u32>) -> Vec<Vec<CallId>> {
        // Only new calls can be on a cycle: older calls cannot depend on newer batches.
        let within = |id: &CallId| calls.contains(&id.0);
        let at = |id: CallId| usize::try_from(id.0.wrapping_sub(calls.start)).unwrap_or(usize::MAX);
        let mut unmet: Vec<usize> = Vec::new();
        let mut free = Vec::new();
        for id in calls.clone().map(CallId) {
            let mut after: Vec<CallId> = self.after(id).iter().copied().filter(within).collect();
            after.sort_unstable();
            after.dedup();
            if after.is_empty() {
                free.push(id);
            }
            unmet.push(after.len());
        }
        while let Some(id) = free.pop() {
            let dependants = self.calls.links(id).map_or(&[][..], |it| &it.dependants);
            for dependant in dependants.iter().copied() {
                if let Some(left) = unmet.get_mut(at(dependant)) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        free.push(dependant);
                    }
                }
            }
        }
        // The remaining calls are on a cycle or depend on one. Following dependencies always
        // reaches a cycle.
        let stuck = |id: CallId| unmet.get(at(id)).is_some_and(|left| *left > 0);
        let mut circles: Vec<Vec<CallId>> = Vec::new();
        let mut seen = vec![false; unmet.len()];
        for start in calls.clone().map(CallId).filter(|id| stuck(*id)) {
            let mut path: Vec<CallId> = Vec::new();
            let mut id = start;
            while !seen.get(at(id)).copied().unwrap_or(true) {
                if let Some(seen) = seen.get_mut(at(id)) {
                    *seen = true;
                }
                path.push(id);
                let mut after = self.after(id).iter().copied();
                let Some(next) = after.find(|it| within(it) && stuck(*it)) else {
                    break;
                };
                id = next;
            }
            if let Some(from) = path.iter().position(|it| *it == id) {
                circles.push(path.split_off(from));
            }
        }
        circles
    }

    fn after(&self, id: CallId) -> &[CallId] {
        self.request(id).map_or(&[], |Request { after, .. }| after)
    }
}
