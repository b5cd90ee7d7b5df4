//! A random graph without cycles: each node depends on up to three earlier ones.

pub(crate) struct Graph {
    /// For each node, the nodes that it depends on.
    pub(crate) after: Vec<Vec<u32>>,
}

impl Graph {
    /// The same graph each time.
    pub(crate) fn random(count: u32) -> Self {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut draw = |below: u32| {
            // xorshift64*: random enough here, without a dependency.
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let high = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
            u32::try_from(high % u64::from(below.max(1))).unwrap_or(0)
        };
        let after = (0..count).map(|n| {
            let mut after: Vec<u32> = (0..draw(4)).map(|_| draw(n)).filter(|it| *it < n).collect();
            after.sort_unstable();
            after.dedup();
            after
        });
        Self { after: after.collect() }
    }
}
