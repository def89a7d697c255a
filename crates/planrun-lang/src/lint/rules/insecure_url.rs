//! `insecure-url`: an unencrypted request over the network.

use core::net::{Ipv4Addr, Ipv6Addr};

use url::Url;

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::lint::reach::address;
use crate::source::Span;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (_, call, signature) in subject.calls() {
        if &*signature.namespace != "http" {
            continue;
        }
        let Some(code) = call.argument("url") else {
            continue;
        };
        let Some(url) = address(&code.root, subject.known(code))
            .filter(|url| url.scheme() == "http" && !is_local(url))
        else {
            continue;
        };
        let host = url.host_str().unwrap_or_default();
        let message = format!("this request to {host} is not encrypted");
        let finding = codes::safety::INSECURE_URL
            .at(code.span, message)
            .note("everyone on the network path can read and change it")
            .help("write `https://`");
        let written = subject.source.slice(code.span);
        found.push(match written.find("http://") {
            Some(at) => {
                let start = code.span.start as usize + at;
                let span = Span::new(start, start + "http".len());
                finding.unsafe_fix("write `https://`", vec![Edit::new(span, "https")])
            }
            None => finding,
        });
    }
}

/// Returns true for loopback addresses: such requests do not leave the machine.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || bare
            .parse::<Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
        || bare
            .parse::<Ipv6Addr>()
            .is_ok_and(|address| address.is_loopback())
}
