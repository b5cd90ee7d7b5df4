//! The layout of a dependency graph: columns from left to right, in which no two boxes overlap and
//! no line crosses a box. Pure.
//!
//! The usual steps: leave out edges that close a cycle, give each node a column after all that it
//! depends on, add a bend for each column that an edge passes, order the columns so that few edges
//! cross, and place each node beside the first that it depends on. Groups that are not connected are placed below
//! each other; nodes without edges form a grid at the end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The width of a box.
pub(super) const WIDTH: i32 = 204;
/// The height of a box.
pub(super) const HEIGHT: i32 = 44;
/// The room between columns, in which edges run.
const BETWEEN_COLUMNS: i32 = 60;
/// The room between boxes of a column.
const BETWEEN_ROWS: i32 = 14;
/// The height of the lane in which an edge passes a column.
const LANE: i32 = 10;
/// The room between groups.
const BETWEEN_GROUPS: i32 = 34;
/// How often columns are ordered. More changes little.
const SWEEPS: usize = 6;
/// The least number of columns of the grid.
const GRID: i32 = 3;

/// A laid-out graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Layout {
    /// The top left corner of each node's box.
    pub(super) boxes: Vec<(i32, i32)>,
    /// The edges.
    pub(super) edges: Vec<Drawn>,
    /// The size of the drawing.
    pub(super) size: (i32, i32),
}

/// An edge: from which node to which, and the points that it runs through.
///
/// Points come in pairs: an edge leaves a column at an even point and reaches the next column at an
/// odd one. Between an odd point and the next it runs straight through the lane of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Drawn {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) points: Vec<(i32, i32)>,
}

/// Lays out nodes by their dependencies: `after[n]` has the nodes that come before `n`.
pub(super) fn layout(after: &[Vec<usize>]) -> Layout {
    let edges = without_cycles(after);
    let mut layout = Layout { boxes: vec![(0, 0); after.len()], ..Layout::default() };
    let mut bottom = 0;
    let mut lonely = Vec::new();
    for group in groups(after.len(), &edges) {
        if let [one] = group[..] {
            lonely.push(one);
            continue;
        }
        let mut columns = Columns::of(&group, &edges);
        columns.order();
        columns.place();
        bottom = columns.draw(bottom, &mut layout) + BETWEEN_GROUPS;
    }
    let across = layout.size.0 / (WIDTH + BETWEEN_ROWS);
    let across = usize::try_from(across.max(GRID)).unwrap_or(1);
    for (at, node) in lonely.iter().enumerate() {
        let (column, row) = (number(at % across), number(at / across));
        let place = (column * (WIDTH + BETWEEN_ROWS), bottom + row * (HEIGHT + BETWEEN_ROWS));
        layout.boxes[*node] = place;
        layout.reach(place.0 + WIDTH, place.1 + HEIGHT);
    }
    layout
}

impl Layout {
    fn reach(&mut self, x: i32, y: i32) {
        self.size = (self.size.0.max(x), self.size.1.max(y));
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / 1_000)
}

/// The edges (from, to), without those that lead to an unknown node, to itself, or close a cycle.
fn without_cycles(after: &[Vec<usize>]) -> BTreeSet<(usize, usize)> {
    let mut edges = BTreeSet::new();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (to, before) in after.iter().enumerate() {
        for from in before.iter().copied().filter(|it| *it < after.len() && *it != to) {
            if !reaches(&followers, to, from) && edges.insert((from, to)) {
                followers[from].push(to);
            }
        }
    }
    edges
}

fn reaches(followers: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if at == to {
            return true;
        }
        queue.extend(followers[at].iter().copied().filter(|it| seen.insert(*it)));
    }
    false
}

/// The connected groups of nodes, each in the order of its nodes.
fn groups(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        near[*from].push(*to);
        near[*to].push(*from);
    }
    let mut seen = vec![false; count];
    let mut groups = Vec::new();
    for first in 0..count {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let (mut group, mut next) = (Vec::new(), vec![first]);
        while let Some(at) = next.pop() {
            group.push(at);
            for it in &near[at] {
                if !seen[*it] {
                    seen[*it] = true;
                    next.push(*it);
                }
            }
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}

/// A point of a column: a node, or a bend of an edge that passes the column.
struct Point {
    node: Option<usize>,
    /// The points of the column before that it is connected with.
    left: Vec<usize>,
    /// The points of the column after.
    right: Vec<usize>,
    /// Where its middle is.
    y: i32,
}

/// The columns of one group.
struct Columns {
    points: Vec<Point>,
    /// The points of each column, from top to bottom.
    columns: Vec<Vec<usize>>,
    /// Each edge with the points that it runs through, both ends included.
    edges: Vec<(usize, usize, Vec<usize>)>,
}

impl Columns {
    fn of(group: &[usize], edges: &BTreeSet<(usize, usize)>) -> Self {
        let levels = levels(group, edges);
        let last = levels.values().copied().max().unwrap_or(0);
        let mut it =
            Self { points: Vec::new(), columns: vec![Vec::new(); last + 1], edges: Vec::new() };
        let mut at: BTreeMap<usize, usize> = BTreeMap::new();
        for node in group {
            at.insert(*node, it.add(Some(*node), levels[node]));
        }
        for (from, to) in edges.iter().filter(|it| at.contains_key(&it.0)) {
            let mut through = vec![at[from]];
            for level in levels[from] + 1..levels[to] {
                let bend = it.add(None, level);
                through.push(bend);
            }
            through.push(at[to]);
            for pair in through.windows(2) {
                it.points[pair[0]].right.push(pair[1]);
                it.points[pair[1]].left.push(pair[0]);
            }
            it.edges.push((*from, *to, through));
        }
        it
    }

    fn add(&mut self, node: Option<usize>, level: usize) -> usize {
        self.points.push(Point { node, left: Vec::new(), right: Vec::new(), y: 0 });
        self.columns[level].push(self.points.len() - 1);
        self.points.len() - 1
    }

    /// Orders each column by the mean place of its neighbours, first from the left, then from the
    /// right.
    fn order(&mut self) {
        for sweep in 0..SWEEPS {
            let from_left = sweep % 2 == 0;
            let places: Vec<usize> = if from_left {
                (1..self.columns.len()).collect()
            } else {
                (0..self.columns.len().saturating_sub(1)).rev().collect()
            };
            for column in places {
                let beside = if from_left { column - 1 } else { column + 1 };
                let rank: BTreeMap<usize, usize> =
                    self.columns[beside].iter().enumerate().map(|(at, it)| (*it, at)).collect();
                let mut keyed: Vec<(usize, usize)> = Vec::new();
                for (at, point) in self.columns[column].iter().enumerate() {
                    let near = if from_left {
                        &self.points[*point].left
                    } else {
                        &self.points[*point].right
                    };
                    let sum: usize = near.iter().filter_map(|it| rank.get(it)).sum();
                    // A point without neighbours stays where it is.
                    let mean = (sum * 1_000).checked_div(near.len()).unwrap_or(at * 1_000);
                    keyed.push((mean, *point));
                }
                keyed.sort_by_key(|it| it.0);
                self.columns[column] = keyed.into_iter().map(|it| it.1).collect();
            }
        }
    }

    /// Places each point beside the first that it is connected with, as far as those above it
    /// allow. So the drawing begins at the top, where it is read first.
    fn place(&mut self) {
        for column in 0..self.columns.len() {
            let mut places: Vec<i32> = Vec::new();
            for (nth, point) in self.columns[column].iter().enumerate() {
                let beside = self.points[*point].left.iter().map(|it| self.points[*it].y).min();
                let above = nth.checked_sub(1).map(|it| self.columns[column][it]);
                let least = above.zip(places.last());
                let least = least.map(|(above, y)| y + self.apart(above, *point)).unwrap_or(0);
                places.push(beside.unwrap_or(0).max(least));
            }
            for (point, y) in self.columns[column].clone().into_iter().zip(places) {
                self.points[point].y = y;
            }
        }
    }

    /// How far apart the middles of two neighbours are at least.
    fn apart(&self, above: usize, below: usize) -> i32 {
        let half = |it: usize| if self.points[it].node.is_some() { HEIGHT / 2 } else { LANE / 2 };
        half(above) + BETWEEN_ROWS + half(below)
    }

    /// Adds the group below `top`. Returns where it ends.
    fn draw(&self, top: i32, layout: &mut Layout) -> i32 {
        let least = self.points.iter().map(|it| it.y).min().unwrap_or(0);
        let shift = top + HEIGHT / 2 - least;
        let x = |column: usize| number(column) * (WIDTH + BETWEEN_COLUMNS);
        let mut column_of = vec![0; self.points.len()];
        let mut bottom = top;
        for (column, points) in self.columns.iter().enumerate() {
            for point in points {
                column_of[*point] = column;
                let y = self.points[*point].y + shift;
                bottom = bottom.max(y + HEIGHT / 2);
                if let Some(node) = self.points[*point].node {
                    layout.boxes[node] = (x(column), y - HEIGHT / 2);
                }
                layout.reach(x(column) + WIDTH, y + HEIGHT / 2);
            }
        }
        for (from, to, through) in &self.edges {
            let mut points = Vec::new();
            for pair in through.windows(2) {
                let (left, right) = (pair[0], pair[1]);
                points.push((x(column_of[left]) + WIDTH, self.points[left].y + shift));
                points.push((x(column_of[right]), self.points[right].y + shift));
            }
            layout.edges.push(Drawn { from: *from, to: *to, points });
        }
        bottom
    }
}

/// The column of each node: after all that it depends on. A node without dependencies stands just
/// before the first that depends on it.
fn levels(group: &[usize], edges: &BTreeSet<(usize, usize)>) -> BTreeMap<usize, usize> {
    let mut missing: BTreeMap<usize, usize> = group.iter().map(|it| (*it, 0)).collect();
    let inside: Vec<(usize, usize)> =
        edges.iter().copied().filter(|it| missing.contains_key(&it.0)).collect();
    for (_, to) in &inside {
        *missing.entry(*to).or_default() += 1;
    }
    let beginnings: Vec<usize> = group.iter().copied().filter(|it| missing[it] == 0).collect();
    let mut levels: BTreeMap<usize, usize> = group.iter().map(|it| (*it, 0)).collect();
    let mut queue: VecDeque<usize> = beginnings.iter().copied().collect();
    while let Some(at) = queue.pop_front() {
        let level = levels[&at];
        for (_, to) in inside.iter().filter(|it| it.0 == at) {
            let known = levels.entry(*to).or_default();
            *known = (*known).max(level + 1);
            if let Some(left) = missing.get_mut(to) {
                *left -= 1;
                if *left == 0 {
                    queue.push_back(*to);
                }
            }
        }
    }
    for node in beginnings {
        let first = inside.iter().filter(|it| it.0 == node).map(|it| levels[&it.1]).min();
        levels.insert(node, first.unwrap_or(1) - 1);
    }
    levels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn overlap(one: (i32, i32), other: (i32, i32)) -> bool {
        (one.0 - other.0).abs() < WIDTH && (one.1 - other.1).abs() < HEIGHT
    }

    #[track_caller]
    fn check(after: &[Vec<usize>]) -> Layout {
        let layout = layout(after);
        for (at, one) in layout.boxes.iter().enumerate() {
            for other in &layout.boxes[at + 1..] {
                assert!(!overlap(*one, *other), "{one:?} and {other:?} overlap");
            }
            assert!(one.0 >= 0 && one.1 >= 0, "{one:?} is outside");
            assert!(one.0 + WIDTH <= layout.size.0 && one.1 + HEIGHT <= layout.size.1);
        }
        for edge in &layout.edges {
            for pair in edge.points.chunks(2) {
                assert!(pair[0].0 < pair[1].0, "{edge:?} runs to the left");
            }
            // The straight parts lie in columns; they must not run through a box.
            for pair in edge.points[1..edge.points.len() - 1].chunks(2) {
                let y = pair[0].1;
                let hit = layout.boxes.iter().find(|it| {
                    it.0 < pair[1].0 && it.0 + WIDTH > pair[0].0 && it.1 <= y && y <= it.1 + HEIGHT
                });
                assert_eq!(hit, None, "{edge:?} runs through a box");
            }
        }
        layout
    }

    #[test]
    fn an_item_stands_to_the_right_of_all_that_it_depends_on() {
        let layout = check(&[vec![], vec![0], vec![1], vec![0, 2]]);
        let x: Vec<i32> = layout.boxes.iter().map(|it| it.0 / (WIDTH + BETWEEN_COLUMNS)).collect();
        assert_eq!(x, [0, 1, 2, 3]);
        assert_eq!(layout.edges.len(), 4);
    }

    #[test]
    fn items_without_dependencies_form_a_grid_below_the_others() {
        let layout = check(&[vec![], vec![0], vec![], vec![], vec![], vec![]]);
        let below = layout.boxes[0].1 + HEIGHT;
        assert!(layout.boxes[2..].iter().all(|it| it.1 >= below), "{layout:?}");
        assert_eq!(layout.boxes[2].1, layout.boxes[3].1);
        check(&[]);
    }

    #[test]
    fn an_edge_that_closes_a_cycle_is_left_out() {
        assert_eq!(check(&[vec![1], vec![0], vec![9, 2]]).edges.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn no_boxes_overlap_and_no_line_crosses_one_in_graphs_of_200(
            edges in prop::collection::vec((0usize..200, 0usize..200), 0..400)
        ) {
            let mut after = vec![Vec::new(); 200];
            for (from, to) in edges {
                after[to.max(from)].push(from.min(to));
            }
            let layout = check(&after);
            prop_assert_eq!(layout, super::layout(&after));
        }
    }
}
