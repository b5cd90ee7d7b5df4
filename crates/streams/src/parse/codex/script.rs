//! Finds plans in scripts of models that only write code.
//!
//! Such a model writes JavaScript, which is the only record of its plan. If the plan is a literal
//! in the script, it is read; if the script computes it, a warning says so. The script is not
//! executed, and it is unknown whether the call was reached.

use crate::json::write_string;

/// Maximum of nesting and of calls.
const MOST_DEPTH: usize = 16;
const MOST_CALLS: usize = 64;

/// The ways to write the call, up to its arguments.
const CALLS: [&str; 3] = ["tools.update_plan", "tools[\"update_plan\"]", "tools['update_plan']"];

/// The plans in a script.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Plans {
    /// The arguments of each call, as JSON.
    pub(super) written: Vec<String>,
    /// How many calls have arguments that are not literals.
    pub(super) computed: usize,
    /// Whether the script calls other tools too.
    pub(super) has_others: bool,
}

impl Plans {
    /// Reads a script.
    pub(super) fn of(script: &str) -> Self {
        let mut plans = Self::default();
        let mut rest = script;
        while let Some(at) = rest.find("tools") {
            let Some(here) = rest.get(at..) else { break };
            let call = CALLS.into_iter().find_map(|it| here.strip_prefix(it));
            let arguments = call.and_then(|it| it.trim_start().strip_prefix('('));
            if let Some(arguments) = arguments {
                let mut literal = Literal { rest: arguments, out: Vec::new() };
                let is_read = literal.value(0).is_some() && literal.eat(')');
                match String::from_utf8(literal.out) {
                    Ok(json) if is_read && plans.written.len() < MOST_CALLS => {
                        plans.written.push(json);
                    }
                    Ok(_) | Err(_) => plans.computed += 1,
                }
            } else {
                let after = here.get("tools".len()..).unwrap_or_default().trim_start();
                plans.has_others |= after.starts_with(['.', '[']);
            }
            rest = here.get("tools".len()..).unwrap_or_default();
        }
        plans
    }

    /// Whether the script has any call of the plan tool.
    pub(super) fn is_any(&self) -> bool {
        !self.written.is_empty() || self.computed > 0
    }
}

/// Converts a JavaScript literal to JSON.
struct Literal<'a> {
    rest: &'a str,
    out: Vec<u8>,
}

impl<'a> Literal<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, mark: char) -> bool {
        self.blanks();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        self.blanks();
        if depth > MOST_DEPTH {
            return None;
        }
        match self.rest.chars().next()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' | '\'' | '`' => {
                let text = self.string()?;
                write_string(&text, &mut self.out);
                Some(())
            }
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.eat('{');
        self.out.push(b'{');
        let mut is_first = true;
        while !self.eat('}') {
            if !is_first {
                self.out.push(b',');
            }
            is_first = false;
            let key = match self.rest.chars().next()? {
                '"' | '\'' => self.string()?,
                _ => self.take(|it| it.is_alphanumeric() || it == '_' || it == '$')?.to_owned(),
            };
            write_string(&key, &mut self.out);
            self.out.push(b':');
            if !self.eat(':') {
                return None;
            }
            self.value(depth + 1)?;
            if !self.eat(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
        self.out.push(b'}');
        Some(())
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.eat('[');
        self.out.push(b'[');
        let mut is_first = true;
        while !self.eat(']') {
            if !is_first {
                self.out.push(b',');
            }
            is_first = false;
            self.value(depth + 1)?;
            if !self.eat(',') && !self.rest.starts_with(']') {
                return None;
            }
        }
        self.out.push(b']');
        Some(())
    }

    /// Integers, and the words that JSON knows.
    fn word(&mut self) -> Option<()> {
        let word = self.take(|it| it.is_alphanumeric() || it == '_' || it == '$')?;
        let is_number = word.bytes().all(|it| it.is_ascii_digit())
            && (word == "0" || !word.starts_with('0'))
            && word.len() < 16;
        let json = match word {
            "true" | "false" | "null" => word,
            "undefined" => "null",
            _ if is_number => word,
            _ => return None,
        };
        self.out.extend_from_slice(json.as_bytes());
        // A sum or a call also begins with a literal.
        self.blanks();
        self.rest.starts_with([',', '}', ']', ')']).then_some(())
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self.rest.find(|it| !is_part(it)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest.chars();
        let quote = chars.next()?;
        let mut text = String::new();
        loop {
            match chars.next()? {
                it if it == quote => break,
                '\\' => text.push(escape(&mut chars)?),
                '\n' if quote != '`' => return None,
                '$' if quote == '`' && chars.as_str().starts_with('{') => return None,
                it => text.push(it),
            }
        }
        self.rest = chars.as_str();
        self.blanks();
        // A concatenation is computed.
        self.rest.starts_with([',', '}', ']', ')', ':']).then_some(text)
    }
}

fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'u' => {
            let digits = chars.as_str().get(..4)?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            *chars = chars.as_str().get(4..)?.chars();
            char::from_u32(code)
        }
        it if it.is_ascii_digit() || it == 'x' || it == '\n' => None,
        it => Some(it),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, written: &[&str], computed: usize, has_others: bool) {
        let plans = Plans::of(script);
        let found = (plans.written.iter().map(String::as_str).collect::<Vec<_>>(), plans.computed);
        assert_eq!(found, (written.to_vec(), computed), "{script}");
        assert_eq!(plans.has_others, has_others, "{script}");
        for json in &plans.written {
            serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        }
    }

    #[test]
    fn a_plan_that_stands_in_the_script_is_read() {
        check(
            "const r = await tools.update_plan({plan: [{step: 'a', status: 'pending'},]});\ntext(r);",
            &[r#"{"plan":[{"step":"a","status":"pending"}]}"#],
            0,
            false,
        );
        check(
            r#"tools["update_plan"] ( { "plan" : [ { "step" : "it's \"é\" \u00e9\n", n: 1, x: null } ] } )"#,
            &["{\"plan\":[{\"step\":\"it's \\\"é\\\" é\\n\",\"n\":1,\"x\":null}]}"],
            0,
            false,
        );
        check(
            "tools.update_plan({plan: [{step: `a\nb`}]})",
            &[r#"{"plan":[{"step":"a\nb"}]}"#],
            0,
            false,
        );
        check(
            "tools.update_plan({plan: []}); tools.update_plan({})",
            &[r#"{"plan":[]}"#, "{}"],
            0,
            false,
        );
    }

    #[test]
    fn a_plan_that_the_script_computes_is_counted() {
        for script in [
            "tools.update_plan(plan)",
            "tools.update_plan({plan})",
            "tools.update_plan({plan: steps.map(it => ({step: it}))})",
            "tools.update_plan({plan: [{step: `a ${b}`}]})",
            "tools.update_plan({plan: [{step: 'a' + b}]})",
            "tools.update_plan({plan: [...old]})",
            "tools.update_plan({plan: [{step: f('a')}]})",
            "tools.update_plan({plan: 1 + 1})",
            "tools.update_plan({plan: [",
            "tools.update_plan({step: '\\u12",
            "tools.update_plan(",
        ] {
            check(script, &[], 1, false);
        }
    }

    #[test]
    fn other_tools_are_no_plans() {
        check("await tools.exec_command({cmd: 'ls'})", &[], 0, true);
        check("text('tools are fine')", &[], 0, false);
        check(
            "tools.exec_command({}); tools.update_plan({plan: []})",
            &[r#"{"plan":[]}"#],
            0,
            true,
        );
    }

    #[test]
    fn deep_nesting_is_not_followed() {
        check(&format!("tools.update_plan({}", "[".repeat(100_000)), &[], 1, false);
    }
}
