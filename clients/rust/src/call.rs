//! A call: its request and its options, made when it is awaited, and made again where the rules in `retry` allow.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tonic::metadata::MetadataMap;
use uuid::Uuid;

use crate::retry::{Repetition, Tries};
use crate::scope::put;
use crate::{Error, MemoryClient, Rpc, Scope};

/// A call that is made when it is awaited.
///
/// `R` is the request; its optional arguments are methods here, named as on the wire, and what isn't set isn't sent.
/// The four options of every call are [`scope`](Call::scope), [`request_id`](Call::request_id),
/// [`deadline`](Call::deadline) and [`correlation_id`](Call::correlation_id). A call whose future is dropped is
/// cancelled; a change may have been made by then.
///
/// ```no_run
/// # use std::time::Duration;
/// # use ironclaw_memory_client::{Error, MemoryClient};
/// # async fn example(client: MemoryClient) -> Result<(), Error> {
/// let found = client.search("what does the user drink?").limit(3).deadline(Duration::from_secs(2)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Whatever [`Error`] says; an option that can't be sent is [`Error::Invalid`].
#[derive(Clone, Debug)]
#[must_use = "a call is made when it is awaited"]
pub struct Call<R> {
    pub(crate) client: MemoryClient,
    pub(crate) request: R,
    pub(crate) options: Options,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) scope: Option<Scope>,
    pub(crate) request_id: Option<String>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) correlation_id: Option<String>,
}

impl<R> Call<R> {
    pub(crate) fn new(client: &MemoryClient, request: R) -> Self {
        Self { client: client.clone(), request, options: Options::default() }
    }

    /// Whose memory, instead of the client's scope.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.options.scope = Some(scope);
        self
    }

    /// Names a change, so that it is made once however often it is sent within 24 hours: the answer to a repetition is
    /// the first result, with `replayed`.
    ///
    /// Each change gets one of its own otherwise. Give yours to be able to ask again, with the same arguments, after
    /// [`Error::DeadlineExceeded`] or [`Error::Unreachable`].
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.options.request_id = Some(id.into());
        self
    }

    /// For the whole call, its tries and the waits between them; for each page of a listing. Default: the client's.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Ties the call to the service's log lines and events; made by the service otherwise.
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.options.correlation_id = Some(id.into());
        self
    }

    /// The call's metadata: scope, ids and, asked for now, the credential.
    pub(crate) fn headers(&self, request_id: Option<&str>) -> Result<MetadataMap, Error> {
        let mut headers = MetadataMap::new();
        self.options.scope.as_ref().unwrap_or(self.client.scope()).write_to(&mut headers);
        put(&mut headers, "x-ironclaw-request-id", request_id);
        put(&mut headers, "x-ironclaw-correlation-id", self.options.correlation_id.as_deref());
        if let Some(token) = &self.client.shared.token {
            token.write_to(&mut headers)?;
        }
        Ok(headers)
    }
}

impl<R: Rpc> Call<R> {
    async fn make(self) -> Result<R::Response, Error> {
        let repetition = self.request.repetition();
        let made_up = (repetition != Repetition::Free).then(|| Uuid::new_v4().to_string());
        let headers = self.headers(self.options.request_id.as_ref().or(made_up.as_ref()).map(String::as_str))?;
        let expires_at = instant_after(self.options.deadline.unwrap_or(self.client.shared.deadline));
        let mut tries = Tries::new(self.client.shared.retry.clone(), repetition, expires_at);
        loop {
            let error = match self.attempt(headers.clone(), expires_at).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let delay = tries.delay_after(&error, Instant::now()).ok_or(error)?;
            sleep(delay).await;
        }
    }

    async fn attempt(&self, headers: MetadataMap, expires_at: Instant) -> Result<R::Response, Error> {
        let mut request = tonic::Request::new(self.request.clone());
        *request.metadata_mut() = headers;
        request.set_timeout(expires_at.saturating_duration_since(Instant::now()));
        let answer = R::transmit(self.client.shared.channel.clone(), request);
        match timeout_at(expires_at, answer).await {
            Ok(answered) => Ok(answered?.into_inner()),
            Err(_) => Err(Error::DeadlineExceeded),
        }
    }
}

impl<R: Rpc> IntoFuture for Call<R> {
    type Output = Result<R::Response, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}

/// The moment when a span is over; a span beyond what the clock can tell is over in thirty years.
pub(crate) fn instant_after(span: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);
    let now = Instant::now();
    now.checked_add(span.min(FAR)).unwrap_or(now)
}
