//! The second verifier: one process that answers request after request.

use handoff_ledger::types::PublicKey;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A process of it.
pub struct Second {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Second {
    /// Starts one; without what it needs, says so.
    pub fn start() -> Option<Second> {
        match start() {
            Ok(second) => Some(second),
            Err(why) => {
                let required = std::env::var("HANDOFF_REQUIRE_TOOLS").is_ok_and(|it| it == "1");
                assert!(!required, "HANDOFF_REQUIRE_TOOLS=1, but {why}");
                println!("SKIPPED, nothing was compared: {why}");
                None
            }
        }
    }

    /// What it says of a ledger.
    pub fn ask(&mut self, path: &Path, is_file: bool, root: Option<PublicKey>) -> Value {
        let request = json!({
            "path": path,
            "kind": if is_file { "sqlite" } else { "export" },
            "root": root,
        });
        writeln!(self.requests, "{request}").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{request}: {error}: {line:?}"))
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent/handoff_verify.py")
}

fn start() -> Result<Second, String> {
    let script = std::env::var_os("HANDOFF_SECOND_VERIFIER").map_or_else(script, PathBuf::from);
    if !script.is_file() {
        return Err(format!("{} is not there", script.display()));
    }
    let check = Command::new("python3")
        .args(["-c", "import cryptography"])
        .output();
    match check {
        Err(error) => return Err(format!("python3 does not run: {error}")),
        Ok(output) if !output.status.success() => {
            return Err("python3 has no module `cryptography`".to_owned());
        }
        Ok(_) => {}
    }
    let mut child = Command::new("python3")
        .arg(&script)
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let requests = child.stdin.take().expect("it is piped");
    let answers = BufReader::new(child.stdout.take().expect("it is piped"));
    Ok(Second {
        child,
        requests,
        answers,
    })
}
