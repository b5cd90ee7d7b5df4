//! A log as Claude Code's transcripts are: texts and tool results of half a kilobyte to twenty, full of
//! escapes and of characters beyond ASCII, and a list now and then. The same for every call.

use std::fs::File;
use std::io::{self, BufWriter, Write};

const WORDS: [&str; 32] = [
    "the ",
    "fn ",
    "let x = ",
    "return ",
    "error: ",
    "src/main.rs:",
    "\\n",
    "    ",
    "\\\"quoted\\\" ",
    "if (a && b) ",
    "parser ",
    "test result: ok. ",
    "0x7fffffff ",
    "\\t",
    "async ",
    "plan ",
    "été ",
    "→ ",
    "{ \\\"k\\\": 1 }\\n",
    "warning: unused ",
    "cargo build ",
    "SELECT * ; ",
    "// comment\\n",
    "C:\\\\temp\\\\x ",
    "Task ",
    "tokens ",
    "impl ",
    "&mut self ",
    "/usr/lib/python3 ",
    "assert_eq!(a, b);\\n",
    "null ",
    "日本 ",
];

/// A sequence that looks like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// A text as it stands in JSON.
    fn text(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 32);
        while text.len() < length {
            text.push_str(WORDS[self.below(32) as usize]);
        }
        text
    }

    /// From half a kilobyte to twenty, each size as often as its double.
    fn length(&mut self) -> usize {
        (512.0 * 40f64.powf(self.below(10_000) as f64 / 10_000.0)) as usize
    }
}

/// Writes a log of at least so many bytes. Gives what is in it.
pub(crate) fn log(file: &str, bytes: u64) -> io::Result<String> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let (mut written, mut lines, mut lists) = (0, 0, 0);
    while written < bytes {
        let mut text = String::new();
        match chance.below(100) {
            0..3 => {
                let todos = todos(&mut chance);
                push(
                    &mut text,
                    lines,
                    &call(lines, "TodoWrite", &format!("{{\"todos\":[{todos}]}}")),
                );
                let said = "Todos have been modified successfully.";
                let kept = format!("{{\"oldTodos\":[],\"newTodos\":[{todos}]}}");
                push(&mut text, lines + 1, &result(lines, said, &kept));
                (lines, lists) = (lines + 2, lists + 1);
            }
            3..30 => {
                let input = format!("{{\"command\":\"{}\"}}", chance.text(120));
                push(&mut text, lines, &call(lines, "Bash", &input));
                let length = chance.length();
                let said = chance.text(length);
                let kept =
                    format!("{{\"stdout\":\"{}\",\"stderr\":\"\"}}", chance.text(length / 4));
                push(&mut text, lines + 1, &result(lines, &said, &kept));
                lines += 2;
            }
            30..95 => {
                let length = chance.length();
                let block = format!("{{\"type\":\"text\",\"text\":\"{}\"}}", chance.text(length));
                push(&mut text, lines, &assistant(lines, &block));
                lines += 1;
            }
            _ => {
                let content = chance.text(120);
                push(
                    &mut text,
                    lines,
                    &format!(
                        "\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"{content}\""
                    ),
                );
                lines += 1;
            }
        }
        written += text.len() as u64;
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    Ok(format!("bytes {written}\nlines {lines}\nlists {lists}\n"))
}

fn todos(chance: &mut Chance) -> String {
    let count = 4 + chance.below(10);
    let todo = |at: u64| {
        let status = ["pending", "in_progress", "completed"][(at % 3) as usize];
        let text = chance.text(40);
        format!("{{\"content\":\"do {text}\",\"status\":\"{status}\",\"activeForm\":\"Doing it\"}}")
    };
    (0..count).map(todo).collect::<Vec<_>>().join(",")
}

fn assistant(number: u64, block: &str) -> String {
    format!(
        "\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{number}\",\"type\":\"message\",\"role\":\"assistant\",\
         \"model\":\"m\",\"content\":[{block}],\"stop_reason\":\"tool_use\",\"usage\":{{\"input_tokens\":4,\
         \"cache_read_input_tokens\":12345,\"output_tokens\":300}}}}"
    )
}

fn call(number: u64, name: &str, input: &str) -> String {
    let block = format!(
        "{{\"type\":\"tool_use\",\"id\":\"toolu_{number}\",\"name\":\"{name}\",\"input\":{input}}}"
    );
    assistant(number, &block)
}

fn result(number: u64, said: &str, kept: &str) -> String {
    format!(
        "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{number}\",\
         \"type\":\"tool_result\",\"content\":\"{said}\"}}]}},\"toolUseResult\":{kept}"
    )
}

fn push(text: &mut String, number: u64, fields: &str) {
    text.push_str(&format!(
        "{{\"parentUuid\":\"{number:032x}\",\"isSidechain\":false,\"userType\":\"external\",\
         \"cwd\":\"/home/u/project\",\"sessionId\":\"6f0c2f5e-5a1c-4a3b-9a52-0c7f5ad1d9a1\",\
         \"version\":\"2.1.197\",\"gitBranch\":\"main\",{fields},\"uuid\":\"{number:032x}\",\
         \"timestamp\":\"2026-01-02T03:04:05.678Z\"}}\n"
    ));
}
