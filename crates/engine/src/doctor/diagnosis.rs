//! The result of an examination, as data, JSON and lines.

use punchlist_bridge::doctor::{self, Finding, State};
use punchlist_formats::text::{Colour, Glyphs, Line, Style, one_line};
use serde_json::{Value, json};

/// All findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// The findings, grouped by subject.
    pub parts: Vec<Part>,
}

/// The findings about one subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The subject: an agent, or `hooks`, `store`, `policy`.
    pub of: &'static str,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Whether nothing is broken.
    pub fn is_well(&self) -> bool {
        self.parts.iter().all(|it| doctor::is_well(&it.findings))
    }

    /// The findings as JSON.
    pub fn json(&self) -> Value {
        let one = |of: &str, it: &Finding| {
            json!({
                "of": of, "about": it.about, "state": it.state.name(), "said": it.said, "fix": it.fix,
            })
        };
        let of_part = |part: &Part| -> Vec<Value> {
            part.findings.iter().map(|it| one(part.of, it)).collect()
        };
        let findings: Vec<Value> = self.parts.iter().flat_map(of_part).collect();
        json!({"well": self.is_well(), "findings": findings})
    }

    /// The findings as lines: one for each finding, and one for its fix.
    pub fn lines(&self, glyphs: Glyphs) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in &self.parts {
            for (at, it) in part.findings.iter().enumerate() {
                let of = if at == 0 { part.of } else { "" };
                let (sign, style) = sign(it.state, glyphs);
                let mut line = Line::of(&format!("{of:<8} "), Style::Plain);
                line.push(sign, style);
                line.push(&format!(" {:<11} {}", it.about, one_line(&it.said)), Style::Plain);
                lines.push(line);
                if let Some(fix) = &it.fix {
                    let fix = format!("{:>22} fix: {}", "", one_line(fix));
                    lines.push(Line::of(&fix, Style::Plain));
                }
            }
        }
        lines
    }
}

fn sign(state: State, glyphs: Glyphs) -> (&'static str, Style) {
    match (state, glyphs) {
        (State::Good, Glyphs::Ascii) => ("+", Style::In(Colour::Green)),
        (State::Good, Glyphs::Unicode | Glyphs::Emoji) => ("✓", Style::In(Colour::Green)),
        (State::Absent, Glyphs::Ascii) => ("-", Style::Dim),
        (State::Absent, Glyphs::Unicode | Glyphs::Emoji) => ("–", Style::Dim),
        (State::Note, _) => ("!", Style::In(Colour::Yellow)),
        (State::Bad, Glyphs::Ascii) => ("x", Style::In(Colour::Red)),
        (State::Bad, Glyphs::Unicode | Glyphs::Emoji) => ("✗", Style::In(Colour::Red)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_and_its_remedy_another() {
        let findings = vec![
            Finding::good("gate", "once"),
            Finding::bad("events", "2 events\nwait", "mend\u{1b}[31m it"),
        ];
        let diagnosis = Diagnosis { parts: vec![Part { of: "hooks", findings }] };
        let lines: Vec<String> =
            diagnosis.lines(Glyphs::Ascii).iter().map(Line::to_plain).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "hooks    + gate        once");
        assert!(lines[1].starts_with("         x events      2 events"), "{}", lines[1]);
        assert!(lines.iter().all(|it| !it.contains(char::is_control)));
        assert!(!diagnosis.is_well());
        assert_eq!(diagnosis.json()["findings"][1]["state"], "broken");
    }
}
