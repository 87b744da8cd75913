// SPDX-License-Identifier: Apache-2.0
//! Serves connections: one thread each, calls in the order in which they come.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TInputProtocol as _, TMessageIdentifier,
    TMessageType, TOutputProtocol as _,
};
use thrift::transport::TBufferedReadTransport;
use thrift::{ApplicationErrorKind, TConfiguration};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use super::value::{Fields, Reader, Value, write_fields};
use super::{Answer, Fault, Services};

/// Most connections at a time; BMv2 also has one thread each.
const MOST_CONNECTIONS: usize = 32;
/// Longest string, which holds a program.
const LONGEST_BYTES: usize = 64 << 20;
/// Most elements of a list.
const LONGEST_LIST: usize = 1 << 16;
/// Field number of a method's exception.
const EXCEPTION_FIELD: i16 = 1;

/// Serves until the program ends.
///
/// # Errors
/// The listener cannot be used.
pub(crate) fn start(listener: std::net::TcpListener, services: Services) -> Result<()> {
    let listener = TcpListener::from_std(listener).context("Thrift address")?;
    tokio::spawn(async move {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(e) => {
                    tracing::debug!("Thrift: a connection failed: {e}");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    continue;
                }
            };
            if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                tracing::warn!("Thrift: more than {MOST_CONNECTIONS} connections, one is refused");
                continue;
            }
            let Ok(stream) = stream.into_std() else {
                continue;
            };
            open.fetch_add(1, Ordering::Relaxed);
            let (services, handle, count) = (services.clone(), Handle::current(), open.clone());
            let serve = move || {
                if let Err(e) = serve(stream, &services, &handle) {
                    tracing::debug!("Thrift: a connection has ended: {e}");
                }
                count.fetch_sub(1, Ordering::Relaxed);
            };
            let thread = std::thread::Builder::new().name("thrift".into());
            if thread.spawn(serve).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    });
    Ok(())
}

fn serve(stream: TcpStream, services: &Services, handle: &Handle) -> thrift::Result<()> {
    crate::data_plane::give_way();
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let config = TConfiguration::builder()
        .max_message_size(Some(LONGEST_BYTES))
        .max_frame_size(Some(LONGEST_BYTES))
        .max_string_size(Some(LONGEST_BYTES))
        .max_container_size(Some(LONGEST_LIST))
        .build()?;
    let buffered = TBufferedReadTransport::new(stream);
    let mut input = TBinaryInputProtocol::with_config(buffered, false, config);
    loop {
        // Ends with an error if the client is gone.
        let message = input.read_message_begin()?;
        let args = Reader::new(&mut input).fields()?;
        input.read_message_end()?;
        let (service, method) = match message.name.split_once(':') {
            Some((s, m)) => (s, m),
            None => ("", message.name.as_str()),
        };
        let answer = match message.message_type {
            TMessageType::Call => handle.block_on(services.call(service, method, args)),
            _ => Err(Fault::Unknown),
        };
        out.write_all(&reply(&message, method, answer)?)?;
    }
}

/// Encodes an answer.
fn reply(call: &TMessageIdentifier, method: &str, answer: Answer) -> thrift::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut out = TBinaryOutputProtocol::new(&mut bytes, true);
    let kind = match answer {
        Ok(_) | Err(Fault::Code(_)) => TMessageType::Reply,
        Err(_) => TMessageType::Exception,
    };
    let number = call.sequence_number;
    out.write_message_begin(&TMessageIdentifier::new(method, kind, number))?;
    let application = |text: String, kind: ApplicationErrorKind| {
        Fields::of([Value::text(text), Value::I32(kind as i32)])
    };
    let fields = match answer {
        Ok(value) => Fields(value.map(|v| (0, v)).into_iter().collect()),
        Err(Fault::Code(code)) => {
            let exception = Fields::of([Value::I32(code)]);
            Fields(vec![(EXCEPTION_FIELD, Value::Struct(exception))])
        }
        Err(Fault::Unknown) => application(
            format!("{}: not a method of this switch", call.name),
            ApplicationErrorKind::UnknownMethod,
        ),
        Err(Fault::Failed(why)) => application(why, ApplicationErrorKind::InternalError),
    };
    write_fields(&mut out, &fields)?;
    out.write_message_end()?;
    out.flush()?;
    Ok(bytes)
}
