//! A service whose answers a test writes down beforehand, in the test's own process and over no socket.
//!
//! It speaks gRPC by hand on a pipe in memory, so that tests run on a paused clock: a wait of a minute is over at once,
//! and how long it was can be held to the millisecond. It is no fake of the service: a real one is in `server`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ironclaw_memory_client::{Builder, MemoryClient, Scope};
use prost::Message;
use tokio::io::DuplexStream;
use tokio::sync::Notify;
use tokio_stream::Stream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// What is answered to one try: messages, and how it ends.
#[derive(Clone, Debug)]
pub struct Answer {
    messages: Vec<Vec<u8>>,
    end: End,
}

#[derive(Clone, Debug)]
enum End {
    /// A status, which may be OK.
    With(Status),
    /// None: the server waits until the caller gives up.
    Never,
    /// None: the connection breaks.
    HangUp,
    /// None: the connection isn't even made.
    Unconnected,
}

/// The answer that consists of one message.
pub fn message(message: impl Message) -> Answer {
    messages([message])
}

/// Several messages of a stream that the server then ends.
pub fn messages<M: Message>(messages: impl IntoIterator<Item = M>) -> Answer {
    let messages = messages.into_iter().map(|message| message.encode_to_vec()).collect();
    Answer { messages, end: End::With(Status::new(Code::Ok, "")) }
}

/// The service's own refusal.
pub fn refusal(code: Code, reason: &str) -> Answer {
    refusal_with(code, reason, |_| {})
}

/// The service's own refusal with further details.
pub fn refusal_with(code: Code, reason: &str, add: impl FnOnce(&mut ErrorDetails)) -> Answer {
    let kind = [("kind".to_owned(), "input".to_owned())];
    let mut details = ErrorDetails::with_error_info(reason, "memory.ironclaw", kind);
    add(&mut details);
    status(Status::with_error_details(code, "No.", details))
}

/// The service's own refusal that says when to come back.
pub fn busy(code: Code, reason: &str, retry_after: Duration) -> Answer {
    refusal_with(code, reason, |details| _ = details.set_retry_info(Some(retry_after)))
}

/// Any status.
pub fn status(status: Status) -> Answer {
    Answer { messages: Vec::new(), end: End::With(status) }
}

/// No answer, until the caller gives up.
pub fn silence() -> Answer {
    Answer { messages: Vec::new(), end: End::Never }
}

/// No answer, but a broken connection.
pub fn hang_up() -> Answer {
    Answer { messages: Vec::new(), end: End::HangUp }
}

/// No connection at all.
pub fn unconnected() -> Answer {
    Answer { messages: Vec::new(), end: End::Unconnected }
}

impl Answer {
    /// The same messages, and then the other's end.
    pub fn then(self, other: Answer) -> Answer {
        Answer { messages: self.messages, end: other.end }
    }
}

/// One try as the server got it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The RPC's name.
    pub method: String,
    /// The metadata and what else came as headers.
    pub headers: HeaderMap,
    body: Bytes,
}

impl Seen {
    /// The request.
    pub fn request<M: Message + Default>(&self) -> M {
        M::decode(&self.body[5..]).expect("a request of that type")
    }

    /// A header as text.
    pub fn header(&self, key: &str) -> Option<&str> {
        self.headers.get(key).map(|value| value.to_str().expect("printable"))
    }

    /// The time that the caller gives.
    pub fn timeout(&self) -> Duration {
        let text = self.header("grpc-timeout").expect("a deadline");
        let (digits, unit) = text.split_at(text.len() - 1);
        let count: u64 = digits.parse().expect("digits");
        match unit {
            "S" => Duration::from_secs(count),
            "m" => Duration::from_millis(count),
            "u" => Duration::from_micros(count),
            "n" => Duration::from_nanos(count),
            _ => panic!("an odd unit in {text}"),
        }
    }
}

/// What the server answers, one entry a try, and what it saw.
#[derive(Clone)]
pub struct Script(Arc<State>);

struct State {
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
    hang_up: Notify,
}

impl Script {
    /// A server with these answers.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self(Arc::new(State { answers, seen: Mutex::default(), hang_up: Notify::new() }))
    }

    /// A client of it with the defaults.
    pub fn client(&self) -> MemoryClient {
        self.client_of(MemoryClient::builder(Scope::new("acme", "ann")))
    }

    /// A client of it that is made so.
    pub fn client_of(&self, builder: Builder) -> MemoryClient {
        builder.build_on(self.channel())
    }

    /// The tries so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.0.seen.lock().unwrap().clone()
    }

    fn channel(&self) -> Channel {
        let script = self.clone();
        let connect = move |_| {
            let script = script.clone();
            async move { script.connect().map(TokioIo::new) }
        };
        Endpoint::from_static("http://script").connect_with_connector_lazy(tower::service_fn(connect))
    }

    fn connect(&self) -> io::Result<DuplexStream> {
        let mut answers = self.0.answers.lock().unwrap();
        if matches!(answers.front(), Some(Answer { end: End::Unconnected, .. })) {
            answers.pop_front();
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(self.clone().serve(far));
        Ok(near)
    }

    async fn serve(self, pipe: DuplexStream) {
        let script = self.clone();
        let answer = hyper::service::service_fn(move |request| script.clone().answer(request));
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let connection = connection.serve_connection(TokioIo::new(pipe), answer);
        tokio::select! {
            biased; // what was answered is sent before the connection is dropped
            _ = connection => {}
            () = self.0.hang_up.notified() => {}
        }
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<StreamBody<Frames>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.expect("the whole request").to_bytes();
        let method = head.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
        self.0.seen.lock().unwrap().push(Seen { method, headers: head.headers, body });
        let answer = self.0.answers.lock().unwrap().pop_front().expect("the script has no answer left");
        let response = Response::builder().header("content-type", "application/grpc");
        Ok(response.body(StreamBody::new(self.frames(answer))).expect("a valid response"))
    }

    fn frames(self, answer: Answer) -> Frames {
        Box::pin(async_stream::stream! {
            for message in answer.messages {
                yield Ok(Frame::data(framed(&message)));
            }
            match answer.end {
                End::With(status) => {
                    let mut trailers = HeaderMap::new();
                    status.add_header(&mut trailers).expect("a status fits headers");
                    yield Ok(Frame::trailers(trailers));
                }
                End::HangUp => {
                    self.0.hang_up.notify_one();
                    pending::<()>().await;
                }
                End::Never | End::Unconnected => pending::<()>().await,
            }
        })
    }
}

type Frames = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>;

/// A message as gRPC frames it: not compressed, its length, its bytes.
fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    frame.put_u32(message.len().try_into().expect("a short message"));
    frame.put_slice(message);
    frame.freeze()
}
