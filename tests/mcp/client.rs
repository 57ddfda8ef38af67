//! A small client of our own: lines of JSON to the real program, and its answers.

use crate::cli_support::{Agent, HANG, next};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longest structure and longest text of an answer, in characters: 4,000 tokens of four.
pub const CHARACTERS_MAX: usize = 16_000;
/// How long is waited for what must not come.
const SILENCE: Duration = Duration::from_millis(300);

pub struct Client {
    pub server: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    answers: BTreeMap<String, Value>,
    /// Errors that answer no request.
    strays: Vec<Value>,
    last: u64,
}

/// How a server ended.
pub struct Left {
    pub code: Option<i32>,
    pub stderr: String,
    /// Answers that nobody took.
    pub untaken: Vec<Value>,
}

/// The result of a call.
#[derive(Debug)]
pub struct Called {
    pub document: Value,
    pub text: String,
    pub is_error: bool,
}

impl Called {
    pub fn exit(&self) -> i64 {
        self.document["exit"].as_i64().unwrap()
    }

    pub fn code(&self) -> &str {
        self.document["error"]["code"].as_str().unwrap()
    }
}

impl Client {
    /// A client of `handoff mcp` that has said hello.
    pub fn of(agent: &Agent, options: &str) -> Client {
        let mut client = Client::silent(agent, options);
        let hello = client.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "0" },
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "handoff", "{hello}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// A client that has said nothing yet.
    pub fn silent(agent: &Agent, options: &str) -> Client {
        let mut command = agent.command(&format!("mcp {options}"));
        let mut server = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Client {
            stdin: server.stdin.take(),
            server,
            lines,
            answers: BTreeMap::new(),
            strays: Vec::new(),
            last: 0,
        }
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request, and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Begins a call of a tool.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    pub fn cancel(&mut self, id: &Value) {
        let params = json!({ "requestId": id, "reason": "no longer wanted" });
        let method = "notifications/cancelled";
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The next line within `patience`: every one is a message, and nothing else is ever printed.
    fn read(&mut self, patience: Duration) -> bool {
        let Ok(line) = self.lines.recv_timeout(patience) else {
            return false;
        };
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        match message.get("id") {
            None | Some(Value::Null) => self.strays.push(message),
            Some(id) => {
                let id = id.to_string();
                let before = self.answers.insert(id, message);
                assert_eq!(before, None, "answered twice");
            }
        }
        true
    }

    /// The answer to a request.
    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let (id, begun) = (id.into().to_string(), Instant::now());
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let left = HANG.saturating_sub(begun.elapsed());
            assert!(self.read(left), "no answer to {id}");
        }
    }

    /// The next error that answers no request.
    pub fn stray(&mut self) -> Value {
        let begun = Instant::now();
        while self.strays.is_empty() {
            let left = HANG.saturating_sub(begun.elapsed());
            assert!(self.read(left), "no error is told");
        }
        self.strays.remove(0)
    }

    /// Whether a request stays without an answer, as far as can be waited for.
    pub fn is_unanswered(&mut self, id: u64) -> bool {
        while self.read(SILENCE) {}
        !self.answers.contains_key(&id.to_string())
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The result of a call that was begun, held to what every answer keeps.
    pub fn result(&mut self, id: u64) -> Called {
        let answer = self.answer(id);
        let result = &answer["result"];
        let document = result["structuredContent"].clone();
        assert!(document["schema"].is_string(), "{answer}");
        assert!(document["exit"].is_u64(), "{answer}");
        let content = result["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "{answer}");
        let text = content[0]["text"].as_str().unwrap().to_owned();
        assert!(text.chars().count() <= CHARACTERS_MAX, "{}", text.len());
        assert!(document.to_string().chars().count() <= CHARACTERS_MAX);
        let is_error = result["isError"].as_bool().unwrap();
        assert_eq!(is_error, document["error"].is_object(), "{answer}");
        next::check_document(&document);
        Called {
            document,
            text,
            is_error,
        }
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Called {
        let id = self.begin(tool, arguments);
        self.result(id)
    }

    /// Calls a tool, which must say yes.
    pub fn yes(&mut self, tool: &str, arguments: Value) -> Value {
        let called = self.call(tool, arguments.clone());
        assert_eq!(called.exit(), 0, "{tool} {arguments}: {called:?}");
        called.document
    }

    /// Closes standard input, and waits for the end.
    pub fn leave(mut self) -> Left {
        drop(self.stdin.take());
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.server.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < HANG, "the server does not end");
            thread::sleep(Duration::from_millis(5));
        };
        while self.read(SILENCE) {}
        let mut stderr = String::new();
        let told = self.server.stderr.as_mut().unwrap();
        told.read_to_string(&mut stderr).unwrap();
        Left {
            code: status.code(),
            stderr,
            untaken: std::mem::take(&mut self.answers).into_values().collect(),
        }
    }

    /// Leaves, which must go in peace.
    pub fn leave_in_peace(self) {
        let left = self.leave();
        assert_eq!((left.code, left.stderr.as_str()), (Some(0), ""));
        assert_eq!(left.untaken, Vec::<Value>::new());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
