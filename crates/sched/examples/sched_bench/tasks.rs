//! The graph as tokio tasks: one per node, started by the last of its dependencies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::Outcome;
use crate::graph::Graph;

struct Node {
    /// How many dependencies have not ended.
    left: AtomicU32,
    dependants: Vec<u32>,
}

struct Shared {
    nodes: Vec<Node>,
    /// How many nodes have not run.
    left: AtomicUsize,
    done: Notify,
}

pub(crate) struct Nodes(Arc<Shared>);

impl Nodes {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut nodes: Vec<Node> = graph
            .after
            .iter()
            .map(|after| {
                let left = AtomicU32::new(u32::try_from(after.len()).unwrap_or(u32::MAX));
                Node { left, dependants: Vec::new() }
            })
            .collect();
        for (n, after) in graph.after.iter().enumerate() {
            for other in after {
                if let (Ok(n), Some(node)) = (u32::try_from(n), nodes.get_mut(*other as usize)) {
                    node.dependants.push(n);
                }
            }
        }
        let left = AtomicUsize::new(nodes.len());
        Self(Arc::new(Shared { nodes, left, done: Notify::new() }))
    }

    /// Runs every node after its dependencies.
    pub(crate) async fn run(&self) -> Outcome {
        let first = 0..u32::try_from(self.0.nodes.len())?;
        for n in first.filter(|n| self.0.nodes[*n as usize].left.load(Ordering::Relaxed) == 0) {
            start(&self.0, n);
        }
        self.0.done.notified().await;
        Ok(())
    }
}

fn start(shared: &Arc<Shared>, n: u32) {
    let shared = Arc::clone(shared);
    drop(tokio::spawn(async move {
        let Some(node) = shared.nodes.get(n as usize) else { return };
        for dependant in &node.dependants {
            let Some(other) = shared.nodes.get(*dependant as usize) else { continue };
            if other.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                start(&shared, *dependant);
            }
        }
        if shared.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.done.notify_one();
        }
    }));
}
