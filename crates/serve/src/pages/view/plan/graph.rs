//! The dependencies as a drawing: an item stands to the right of what it depends on.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use punchlist_model::{Item, Number, Status};

use super::Here;
use super::tree::label;
use crate::pages::layered::{self, Drawn, HEIGHT, WIDTH};
use crate::pages::view::acts;
use crate::pages::view::parts::{count, item_sign};

/// The room around the drawing, for the outlines of boxes.
const MARGIN: i32 = 4;

/// The graph.
pub(super) fn graph(here: &Here<'_>) -> Markup {
    let items = here.plan.listed();
    let index: BTreeMap<Number, usize> =
        items.iter().enumerate().map(|(at, it)| (it.number, at)).collect();
    let before =
        |it: &&Item| it.depends_on.iter().filter_map(|it| index.get(it).copied()).collect();
    let after: Vec<Vec<usize>> = items.iter().map(before).collect();
    let layout = layered::layout(&after);
    let chain = chain(here, &index, &after);
    let (width, height) = (layout.size.0 + 2 * MARGIN, layout.size.1 + 2 * MARGIN);
    let edges = layout.edges.len();
    html! {
        @if items.is_empty() {
            div.empty data-key="empty" { h2 { "The plan has no items yet" } p { "Add the first one, and say with " code { "--after" } " what comes before it." } }
        } @else if edges == 0 {
            p.muted { "No item depends on another. " code { "punchlist add \"Publish\" --after 1" } " makes one wait for item 1." }
        } @else {
            p.muted { (count(items.len(), "item", "items")) ", " (count(edges, "dependency", "dependencies")) ". Work runs from left to right." }
        }
        @if !items.is_empty() { label.check { input #fit type="checkbox"; "Fit to the width" } }
        div.graph data-key="graph" tabindex="0" role="group" aria-label="Dependencies" {
            svg.chained[!chain.is_empty()] width=(width) height=(height) viewBox=(format!("{} {} {width} {height}", -MARGIN, -MARGIN)) {
                g aria-hidden="true" {
                    @for edge in &layout.edges {
                        path.edge.in-chain[chain.contains(&edge.from) && chain.contains(&edge.to)]
                            .met[items[edge.from].status == Status::Completed] d=(path(edge)) {}
                    }
                }
                @for (at, (item, (x, y))) in items.iter().zip(&layout.boxes).enumerate() {
                    foreignObject x=(x) y=(y) width=(WIDTH) height=(HEIGHT) {
                        a.node.{"is-" (item.status)}.in-chain[chain.contains(&at)].current[here.is_open(item)]
                            data-row data-item=(item.number) data-status=(item.status)
                            href=(here.item_address(item.number)) title=(punchlist_formats::text::one_line(&item.title)) {
                            (item_sign(item)) span.number { (item.number) } span.title { (label(item)) }
                        }
                    }
                }
            }
        }
        (acts::key_form(here))
    }
}

/// The open item with everything before and after it.
fn chain(
    here: &Here<'_>,
    index: &BTreeMap<Number, usize>,
    after: &[Vec<usize>],
) -> BTreeSet<usize> {
    let Some(at) = here.page.item.as_ref().and_then(|it| index.get(&it.0)) else {
        return BTreeSet::new();
    };
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (to, before) in after.iter().enumerate() {
        before.iter().for_each(|from| followers[*from].push(to));
    }
    let mut chain = BTreeSet::from([*at]);
    for edges in [after, &followers[..]] {
        let mut next = vec![*at];
        while let Some(at) = next.pop() {
            next.extend(edges[at].iter().copied().filter(|it| chain.insert(*it)));
        }
    }
    chain
}

/// Curves between columns, straight lines through them.
fn path(edge: &Drawn) -> String {
    let mut path = String::new();
    for (at, pair) in edge.points.chunks(2).enumerate() {
        let [(x, y), (to_x, to_y)] = pair else { continue };
        let middle = (x + to_x) / 2;
        let begin = if at == 0 { 'M' } else { 'L' };
        path.push_str(&format!("{begin}{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}"));
    }
    path
}
