//! Command lines of workers, and their streams.

use super::*;

const JOB: Job<'static> = Job {
    agent: Agent::Claude,
    program: "/bin/agent",
    model: Some("m"),
    arguments: &[],
    instructions: "",
    title: "Write the notes",
    context: "Look at the last release.\nKeep it short.",
    criteria: "CHANGELOG.md has a section 1.2",
};

#[test]
fn a_job_is_a_command_that_prints_what_can_be_read() {
    let more = ["--permission-mode".to_owned(), "acceptEdits".to_owned()];
    let mut lines = String::new();
    for agent in Agent::ALL {
        let words = command(&Job { agent, arguments: &more, ..JOB });
        let prompt = prompt(&JOB);
        let words: Vec<String> =
            words.into_iter().map(|it| it.replace(&prompt, "PROMPT")).collect();
        lines.push_str(&format!("{}\n", words.join(" ")));
    }
    insta::assert_snapshot!("commands", format!("{lines}\n{}", prompt(&JOB)));
    let told = Job { instructions: "You review.\nBe brief.", ..JOB };
    assert!(
        super::prompt(&told).contains("beyond it.\n\nYou review.\nBe brief.\n\nWrite the notes")
    );
    let bare = Job { context: " ", criteria: "", ..JOB };
    assert!(!prompt(&bare).contains("done when"), "{}", prompt(&bare));
}

#[test]
fn no_text_breaks_a_command_line() {
    let long = "é\0".repeat(60_000);
    let job = Job { title: "--help\n-rf \u{1b}[31m", context: &long, criteria: &long, ..JOB };
    for agent in Agent::ALL {
        let words = command(&Job { agent, ..job });
        assert!(words.iter().all(|it| it.len() < 128 * 1024 && !it.contains('\0')));
        let prompt = words.iter().find(|it| it.contains("larger plan")).unwrap();
        assert!(prompt.starts_with("Do this") && prompt.contains("\n--help -rf"), "{prompt:.200}");
        assert!(prompt.contains("bytes more)") && !prompt.contains('\u{1b}'));
    }
}

/// The news of a stream, one per line, and how the worker ended.
#[track_caller]
fn told(agent: Agent, lines: &str, code: Option<i32>) -> (Vec<String>, Ended) {
    let mut worker = WorkerStream::new(agent, "/w/app/");
    let mut news = Vec::new();
    // The result is the same however the stream is split.
    for chunk in lines.as_bytes().chunks(7) {
        news.extend(worker.push(chunk));
    }
    let said = news.into_iter().map(|it| match it {
        News::Doing(words) => words,
        News::List(entries) => {
            let entries = entries.iter().map(|it| format!("{:?} {}", it.status, it.title));
            entries.collect::<Vec<_>>().join(", ")
        }
    });
    (said.collect(), worker.end(code))
}

const CODEX: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I will plan."}}
{"type":"item.started","item":{"id":"item_1","type":"todo_list","items":[{"text":"Look","completed":true},{"text":"Write","completed":false}]}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'cat CHANGELOG.md'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'cat CHANGELOG.md'","aggregated_output":"x","exit_code":0,"status":"completed"}}
{"type":"item.updated","item":{"id":"item_1","type":"todo_list","items":[{"text":"Look","completed":true},{"text":"Write","completed":true}]}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"Wrote it."}}
{"type":"item.completed","item":{"id":"item_1","type":"todo_list","items":[{"text":"Look","completed":true},{"text":"Write","completed":true}]}}
{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}
"#;

#[test]
fn what_a_worker_does_is_told_with_its_progress_and_its_list_is_handed_on() {
    let (news, ended) = told(Agent::Codex, CODEX, Some(0));
    assert_eq!(
        news,
        [
            "Completed Look, Pending Write",
            "Running cat CHANGELOG.md (1/2)",
            "Completed Look, Completed Write",
            "Running cat CHANGELOG.md (2/2)",
        ]
    );
    let well = Ended {
        session: Some("t-1".to_owned()),
        answer: "Wrote it.".to_owned(),
        failure: None,
        errors: Vec::new(),
        usage: WorkerUsage { input_tokens: 1, output_tokens: 1, ..WorkerUsage::default() },
    };
    assert_eq!(ended, well);
}

#[test]
fn an_end_is_believed_only_if_the_program_said_so_and_left_well() {
    let cut = CODEX.split_once("{\"type\":\"turn.completed\"").unwrap().0;
    let failed =
        format!("{cut}{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"no quota\"}}}}\n");
    for (lines, code, expected) in [
        (CODEX, Some(0), None),
        (CODEX, Some(3), Some("it ended with 3")),
        (CODEX, None, Some("it was ended")),
        // An interrupted Gemini CLI exits with 0 and prints nothing else.
        (cut, Some(0), Some("it ended with 0 and did not say that it was done")),
        (&failed, Some(1), Some("it failed and ended with 1: no quota")),
        ("", Some(1), Some("it ended with 1 and did not say that it was done")),
    ] {
        let (_, ended) = told(Agent::Codex, lines, code);
        assert_eq!(ended.failure.as_deref(), expected);
    }
}

#[test]
fn what_was_said_last_is_the_answer_also_in_pieces() {
    let line = |text: &str| {
        format!(
            "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{text}\",\"delta\":true}}\n"
        )
    };
    let call = "{\"type\":\"tool_use\",\"tool_name\":\"read_file\",\"tool_id\":\"r1\",\"parameters\":{\"file_path\":\"a.md\"}}\n";
    let result = "{\"type\":\"tool_result\",\"tool_id\":\"r1\",\"status\":\"success\"}\n";
    let init = "{\"type\":\"init\",\"session_id\":\"s-1\",\"model\":\"m\"}\n";
    let end = "{\"type\":\"result\",\"status\":\"success\",\"stats\":{}}\n";
    let lines = [
        init,
        &line("I look "),
        &line("at it."),
        call,
        result,
        &line("It is "),
        &line("done."),
        end,
    ];
    let (news, ended) = told(Agent::Gemini, &lines.concat(), Some(0));
    assert_eq!(news, ["Reading a.md"]);
    assert_eq!((ended.answer.as_str(), ended.failure), ("It is done.", None));
    assert_eq!(ended.session.as_deref(), Some("s-1"));
}

#[test]
fn no_bytes_break_it() {
    for bytes in punchlist_testkit::not_utf8() {
        for agent in Agent::ALL {
            let mut worker = WorkerStream::new(agent, "/");
            worker.push(bytes.bytes);
            assert!(worker.end(Some(0)).failure.is_some(), "{}", bytes.name);
        }
    }
}
