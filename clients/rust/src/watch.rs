//! A watch that outlives connections and servers.
//!
//! When one ends, the next try sends the cursor of the last message, so nothing is missed and nothing comes twice. The
//! tries are counted anew with each message: what is bounded is how long a service may be away, not how often.

use std::future::Future;
use std::pin::Pin;

use async_stream::try_stream;
use futures_core::Stream;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Request, Status, Streaming};

use crate::call::instant_after;
use crate::retry::{Repetition, Tries};
use crate::v1::memory_event_service_client::MemoryEventServiceClient;
use crate::v1::{EventKind, WatchEventsRequest, WatchEventsResponse};
use crate::{Call, Error};

/// What happens to memory, as it happens. It ends with the first error that waiting doesn't mend.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<WatchEventsResponse, Error>> + Send>>;

impl Call<WatchEventsRequest> {
    /// Goes on after this place, of the last item that was handled; empty for from now on.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.request.cursor = cursor.into();
        self
    }

    /// Watches all scopes of the tenant; needs the permission `events`.
    pub fn whole_tenant(mut self, whole: bool) -> Self {
        self.request.whole_tenant = whole;
        self
    }

    /// Sends only these kinds of event; none for all.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = EventKind>) -> Self {
        self.request.kinds = kinds.into_iter().map(Into::into).collect();
        self
    }

    /// Begins the watch when the stream is first polled, and keeps it until the stream is dropped.
    ///
    /// The first item has no event: from then on nothing is missed. A connection that breaks or a server that stops is
    /// followed by another try with the last cursor, as often as the client's [`RetryPolicy`](crate::RetryPolicy) says
    /// without anything having come. Without the option `deadline` a watch has none.
    pub fn stream(self) -> EventStream {
        let mut watch = Watch::new(self);
        Box::pin(try_stream! {
            while let Some(message) = watch.next().await? {
                yield message;
            }
        })
    }
}

struct Watch {
    call: Call<WatchEventsRequest>,
    open: Option<Streaming<WatchEventsResponse>>,
    tries: Tries,
    expires_at: Option<Instant>,
}

impl Watch {
    fn new(call: Call<WatchEventsRequest>) -> Self {
        let expires_at = call.options.deadline.map(instant_after);
        let far = expires_at.unwrap_or_else(|| instant_after(std::time::Duration::MAX));
        let tries = Tries::new(call.client.shared.retry.clone(), Repetition::Free, far);
        Self { call, open: None, tries, expires_at }
    }

    /// The next message, over as many connections as it takes; `None` when the service ended the watch.
    async fn next(&mut self) -> Result<Option<WatchEventsResponse>, Error> {
        loop {
            let error = match self.attempt().await {
                Ok(Some(message)) => return Ok(Some(self.take(message))),
                Ok(None) => return Ok(None),
                Err(error) => error,
            };
            self.open = None;
            let delay = self.tries.delay_after(&error, Instant::now()).ok_or(error)?;
            sleep(delay).await;
        }
    }

    async fn attempt(&mut self) -> Result<Option<WatchEventsResponse>, Error> {
        let expires_at = self.expires_at;
        if self.open.is_none() {
            let request = self.request()?;
            let mut stub = MemoryEventServiceClient::new(self.call.client.shared.channel.clone());
            self.open = Some(within(expires_at, stub.watch_events(request)).await?.into_inner());
        }
        match &mut self.open {
            Some(stream) => within(expires_at, stream.message()).await,
            None => Ok(None),
        }
    }

    /// The request of the next try; a token that is asked for is asked anew.
    fn request(&self) -> Result<Request<WatchEventsRequest>, Error> {
        let mut request = Request::new(self.call.request.clone());
        *request.metadata_mut() = self.call.headers(None)?;
        if let Some(expires_at) = self.expires_at {
            request.set_timeout(expires_at.saturating_duration_since(Instant::now()));
        }
        Ok(request)
    }

    fn take(&mut self, message: WatchEventsResponse) -> WatchEventsResponse {
        self.call.request.cursor.clone_from(&message.cursor);
        self.tries.start_over();
        message
    }
}

async fn within<T>(expires_at: Option<Instant>, answer: impl Future<Output = Result<T, Status>>) -> Result<T, Error> {
    match expires_at {
        None => Ok(answer.await?),
        Some(moment) => Ok(timeout_at(moment, answer).await.map_err(|_| Error::DeadlineExceeded)??),
    }
}
