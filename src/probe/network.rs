//! Whether something can be reached over the network.

use crate::probe_spec::{Endpoint, Url};
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use ureq::Agent;

/// What a reachability check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The connection was made; of `http`, the answer has a status from 200 to 399.
    Reachable,
    /// The connection was refused or broken off, or there is no way there.
    Refused,
    /// There was no answer in time.
    Timeout,
    /// The name could not be resolved.
    Unresolved,
    /// No secure connection could be made, as with a certificate that nobody vouches for.
    Tls,
    /// Something answered, but not with a status from 200 to 399.
    Status,
}

impl Reach {
    /// The word that stands in a receipt.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Reach::Reachable => "reachable",
            Reach::Refused => "refused",
            Reach::Timeout => "timeout",
            Reach::Unresolved => "unresolved",
            Reach::Tls => "tls",
            Reach::Status => "status",
        }
    }
}

/// Connects to one address after the other until one accepts; absent if this machine could not try.
pub(super) fn tcp(endpoint: &Endpoint, deadline: Instant) -> Option<Reach> {
    let Ok(addresses) = endpoint.as_str().to_socket_addrs() else {
        return Some(Reach::Unresolved);
    };
    let mut reach = Some(Reach::Unresolved);
    for address in addresses {
        let Some(left) = left(deadline) else {
            return Some(Reach::Timeout);
        };
        match TcpStream::connect_timeout(&address, left) {
            Ok(_) => return Some(Reach::Reachable),
            Err(error) => reach = of_error(&error),
        }
    }
    reach
}

/// Asks for a page: directly, whatever proxy the environment names, following no redirect, reading
/// no body; absent if this machine could not try.
pub(super) fn http(url: &Url, deadline: Instant) -> Option<Reach> {
    let Some(left) = left(deadline) else {
        return Some(Reach::Timeout);
    };
    let agent = Agent::new_with_config(
        Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(left))
            .build(),
    );
    match agent.get(url.as_str()).call() {
        Ok(answer) if (200..400).contains(&answer.status().as_u16()) => Some(Reach::Reachable),
        Ok(_) => Some(Reach::Status),
        Err(error) => of_http_error(&error, url),
    }
}

// The library's errors are many and may become more: all but these mean that what answered does
// not speak HTTP.
#[expect(clippy::wildcard_enum_match_arm)]
fn of_http_error(error: &ureq::Error, url: &Url) -> Option<Reach> {
    match error {
        ureq::Error::HostNotFound => Some(Reach::Unresolved),
        ureq::Error::Timeout(_) => Some(Reach::Timeout),
        ureq::Error::ConnectionFailed => Some(Reach::Refused),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => Some(Reach::Tls),
        // What the TLS library finds wrong with a peer arrives as invalid data.
        ureq::Error::Io(error)
            if error.kind() == ErrorKind::InvalidData && url.as_str().starts_with("https:") =>
        {
            Some(Reach::Tls)
        }
        ureq::Error::Io(error) => of_error(error),
        _ => Some(Reach::Status),
    }
}

/// What a failed connection says; absent if it failed for a reason of this machine's own.
fn of_error(error: &io::Error) -> Option<Reach> {
    const TIMEOUTS: [ErrorKind; 2] = [ErrorKind::TimedOut, ErrorKind::WouldBlock];
    const REFUSALS: [ErrorKind; 9] = [
        ErrorKind::ConnectionRefused,
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
        ErrorKind::UnexpectedEof,
        ErrorKind::HostUnreachable,
        ErrorKind::NetworkUnreachable,
        ErrorKind::PermissionDenied,
        ErrorKind::AddrNotAvailable,
    ];
    if TIMEOUTS.contains(&error.kind()) {
        Some(Reach::Timeout)
    } else if REFUSALS.contains(&error.kind()) {
        Some(Reach::Refused)
    } else {
        None
    }
}

fn left(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
}
