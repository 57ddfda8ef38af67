//! Messages as lines of JSON on standard input and output.
//!
//! Every line that is no message is answered with an error, and none is kept beyond
//! [`LINE_BYTES_MAX`]; a request whose id is that of one still under way is refused, since the two
//! answers could not be told apart.

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashSet;
use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Most requests that are under way at once, waiting ones included.
const REQUESTS_MAX: usize = 256;
/// How many lines may wait for standard output.
const WAITING_LINES_MAX: usize = 16;

/// The transport of one client.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that was too long is skipped.
    is_skipping: bool,
    output: mpsc::Sender<Vec<u8>>,
    /// What is to be said before the next line is read.
    refusal: Option<Vec<u8>>,
    under_way: HashSet<RequestId>,
    has_begun: bool,
    ending: watch::Sender<bool>,
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// What becomes of a line.
enum Read {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Refused(ErrorData, Option<RequestId>),
    /// A notification that nobody knows: it is not answered, whatever it is.
    Ignored,
}

impl<R: AsyncRead + Unpin + Send> Lines<R> {
    /// The transport between `input` and `output`, which sets `ending` when either ends; and the
    /// task that writes, which ends after the transport.
    pub(super) fn new(
        input: R,
        output: impl AsyncWrite + Unpin + Send + 'static,
        ending: watch::Sender<bool>,
    ) -> (Lines<R>, JoinHandle<()>) {
        let (sender, lines) = mpsc::channel(WAITING_LINES_MAX);
        let writing = tokio::spawn(write(output, lines, ending.clone()));
        let transport = Lines {
            input: BufReader::new(input),
            line: Vec::new(),
            is_skipping: false,
            output: sender,
            refusal: None,
            under_way: HashSet::new(),
            has_begun: false,
            ending,
        };
        (transport, writing)
    }

    /// Reads a line into `self.line`. Given up at any moment, it goes on where it was.
    async fn read(&mut self) -> Line {
        loop {
            let Ok(piece) = self.input.fill_buf().await else {
                return Line::End;
            };
            if piece.is_empty() {
                return Line::End;
            }
            let newline = piece.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(piece.len(), |place| place.saturating_add(1));
            let was_skipping = self.is_skipping;
            if !was_skipping {
                self.line.extend(piece.iter().take(taken));
            }
            self.input.consume(taken);
            self.is_skipping = newline.is_none() && (was_skipping || self.is_too_long());
            if self.is_too_long() {
                self.line = Vec::new();
                return Line::TooLong;
            }
            if newline.is_some() && !was_skipping {
                return Line::Whole;
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.line.len() > LINE_BYTES_MAX
    }

    /// What the line that was read is.
    fn parse(&mut self) -> Read {
        let line = std::mem::take(&mut self.line);
        let message = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&line) {
            Ok(message) => message,
            Err(error) => return not_a_message(&line, &error),
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if self.under_way.contains(&id) {
                    let told = format!("the request {id} is under way; give this one another id");
                    return Read::Refused(ErrorData::invalid_request(told, None), None);
                }
                if self.under_way.len() >= REQUESTS_MAX {
                    let told = format!("{REQUESTS_MAX} requests are under way; try again later");
                    return Read::Refused(ErrorData::internal_error(told, None), Some(id));
                }
                self.has_begun = true;
                self.under_way.insert(id);
            }
            // A request that was cancelled is not answered.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.under_way.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        match self.has_begun {
            true => Read::Message(Box::new(message)),
            // Before the first request nothing can be notified of, or answered.
            false => Read::Ignored,
        }
    }
}

/// Why a line is no message.
fn not_a_message(line: &[u8], error: &serde_json::Error) -> Read {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else {
        let told = format!("not JSON: {error}");
        return Read::Refused(ErrorData::parse_error(told, None), None);
    };
    if value.get("method").is_some() && value.get("id").is_none() {
        return Read::Ignored;
    }
    let id = value.get("id").cloned();
    let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    let told = "not a request, notification or response of JSON-RPC 2.0; batches are not taken";
    Read::Refused(ErrorData::invalid_request(told, None), id)
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.under_way.remove(id);
        }
        let (output, line) = (self.output.clone(), line_of(&message));
        async move {
            let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            output.send(line?).await.map_err(closed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut ending = self.ending.subscribe();
        loop {
            // Given up here, the refusal is still to be sent.
            if self.refusal.is_some() {
                let place = self.output.reserve().await.ok()?;
                if let Some(line) = self.refusal.take() {
                    place.send(line);
                }
            }
            let line = tokio::select! {
                biased;
                _ = ending.wait_for(|ending| *ending) => return None,
                line = self.read() => line,
            };
            let read = match line {
                Line::Whole if self.line.trim_ascii().is_empty() => {
                    self.line.clear();
                    Read::Ignored
                }
                Line::Whole => self.parse(),
                Line::TooLong => {
                    let told = format!("a line of more than {LINE_BYTES_MAX} bytes is not read");
                    Read::Refused(ErrorData::invalid_request(told, None), None)
                }
                Line::End => {
                    self.ending.send_replace(true);
                    return None;
                }
            };
            match read {
                Read::Message(message) => return Some(*message),
                Read::Refused(error, id) => {
                    self.refusal = line_of(&JsonRpcMessage::error(error, id)).ok();
                }
                Read::Ignored => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line_of(message: &TxJsonRpcMessage<RoleServer>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes lines until nobody sends any more. Where nobody reads them, the server ends.
async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
    ending: watch::Sender<bool>,
) {
    while let Some(line) = lines.recv().await {
        let written = output.write_all(&line).await;
        if written.is_err() || output.flush().await.is_err() {
            ending.send_replace(true);
            return;
        }
    }
}
