//! When a failed call is tried again, and after how long. Pure: the time is handed in, and nobody sleeps here.
//!
//! gRPC's own retry goes by status code alone, so it could neither leave `OUTCOME_UNKNOWN` alone nor tell a conditional
//! write from a plain one, and it doesn't read `RetryInfo`. A general retry crate would bring its loop and leave exactly
//! these rules to be written. What may be repeated:
//!
//! 1. `UNAVAILABLE`, on reads and on changes. Repeating a change is safe because every change carries a request id, the
//!    same on all tries, under which the service makes it once and answers later tries with the first result.
//! 2. Not `OUTCOME_UNKNOWN`, although it is `UNAVAILABLE`. The answer "done" to a repetition couldn't make durable what
//!    the disk refused to, and would hide from the caller that it may be lost.
//! 3. `CAS_EXHAUSTED`, when the change has no precondition: nothing was written, and the change still makes sense. With
//!    a precondition the caller has to read again; `CONTENT_CHANGED` is never repeated.
//! 4. `RATE_LIMITED`: nothing was started, and the server says how long to wait.
//! 5. Nothing else. In particular not `DEADLINE_EXCEEDED`: the time that the caller gave is over.

use std::time::Duration;

use tokio::time::Instant;
use tonic::Code;

use crate::{Error, Reason};

/// How often and how patiently calls are repeated. All of it happens within the call's deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first included; 1 turns repeating off, and 0 counts as 1. Default 4.
    pub max_tries: u32,
    /// The delay before the second try when the server names none; doubles with each try. Default 200 ms.
    pub first_delay: Duration,
    /// The longest such delay. A delay that the server names is kept even when longer. Default 5 s.
    pub max_delay: Duration,
}

impl RetryPolicy {
    /// One try.
    pub fn never() -> Self {
        Self { max_tries: 1, ..Self::default() }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_tries: 4, first_delay: Duration::from_millis(200), max_delay: Duration::from_secs(5) }
    }
}

/// What it takes to repeat a call without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Nothing: it changes nothing, or the service knows a repetition by its arguments.
    Free,
    /// One request id on all tries: it changes documents.
    UnderOneId,
    /// The same, and it depends on a precondition, which a lost race has to be held against anew.
    UnderOneIdIf,
}

/// The tries of one call.
#[derive(Debug)]
pub(crate) struct Tries {
    policy: RetryPolicy,
    repetition: Repetition,
    expires_at: Instant,
    failed: u32,
}

impl Tries {
    pub(crate) fn new(policy: RetryPolicy, repetition: Repetition, expires_at: Instant) -> Self {
        Self { policy, repetition, expires_at, failed: 0 }
    }

    /// Counts a failed try and returns the wait before the next; `None` when there shall be none.
    ///
    /// A wait that would outlast the caller's time isn't begun: the caller gets the error while it can still act.
    pub(crate) fn delay_after(&mut self, error: &Error, now: Instant) -> Option<Duration> {
        self.failed += 1;
        if self.failed >= self.policy.max_tries || !self.may_repeat(error) {
            return None;
        }
        let delay = self.delay(error.retry_after());
        now.checked_add(delay).filter(|next| *next < self.expires_at).map(|_| delay)
    }

    /// Counts from none again, after something came of a try.
    pub(crate) fn start_over(&mut self) {
        self.failed = 0;
    }

    fn may_repeat(&self, error: &Error) -> bool {
        match error.reason() {
            Some(Reason::OutcomeUnknown) => false,
            Some(Reason::RateLimited) => true,
            Some(Reason::CasExhausted) => self.repetition == Repetition::UnderOneId,
            _ => error.code() == Code::Unavailable,
        }
    }

    /// A delay with spread, so that callers who were refused together don't come back together.
    fn delay(&self, asked_for: Option<Duration>) -> Duration {
        match asked_for {
            Some(least) => least.saturating_add(least.mul_f64(0.2 * fastrand::f64())),
            None => self.ceiling().mul_f64(0.5 + 0.5 * fastrand::f64()),
        }
    }

    fn ceiling(&self) -> Duration {
        let doublings = 2_u32.saturating_pow(self.failed - 1);
        self.policy.first_delay.saturating_mul(doublings).min(self.policy.max_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, ServiceError};

    fn error(code: Code, reason: Reason, retry_after: Option<Duration>) -> Error {
        Error::Service(Box::new(ServiceError {
            code,
            reason,
            kind: Kind::Operation,
            message: "No.".into(),
            metadata: Default::default(),
            field_violations: Vec::new(),
            retry_after,
        }))
    }

    fn busy(retry_after: Option<Duration>) -> Error {
        error(Code::Unavailable, Reason::Overloaded, retry_after)
    }

    fn tries(policy: RetryPolicy, repetition: Repetition, seconds: u64) -> Tries {
        Tries::new(policy, repetition, Instant::now() + Duration::from_secs(seconds))
    }

    fn repeats(error: &Error, repetition: Repetition) -> bool {
        tries(RetryPolicy::default(), repetition, 1000).delay_after(error, Instant::now()).is_some()
    }

    const ALL: [Repetition; 3] = [Repetition::Free, Repetition::UnderOneId, Repetition::UnderOneIdIf];

    #[test]
    fn nothing_but_unavailable_is_repeated_for_its_status() {
        let unknown = || Reason::Other("MOON_PHASE".into());
        for code in (0..17).map(Code::from) {
            for repetition in ALL {
                let repeated = repeats(&error(code, unknown(), None), repetition);
                assert_eq!(repeated, code == Code::Unavailable, "{code:?} {repetition:?}");
            }
        }
        assert!(!repeats(&Error::DeadlineExceeded, Repetition::Free));
    }

    #[test]
    fn an_unknown_outcome_is_left_to_the_caller() {
        for repetition in ALL {
            assert!(!repeats(&error(Code::Unavailable, Reason::OutcomeUnknown, None), repetition));
        }
    }

    #[test]
    fn a_lost_race_is_repeated_only_where_the_change_still_makes_sense() {
        let lost = error(Code::Aborted, Reason::CasExhausted, None);
        assert_eq!(ALL.map(|repetition| repeats(&lost, repetition)), [false, true, false]);
        let changed = error(Code::Aborted, Reason::ContentChanged, None);
        assert_eq!(ALL.map(|repetition| repeats(&changed, repetition)), [false; 3]);
    }

    #[test]
    fn delays_grow_are_spread_and_end() {
        let policy = RetryPolicy { max_tries: 8, ..RetryPolicy::default() };
        for _ in 0..200 {
            let mut tries = tries(policy.clone(), Repetition::Free, 1000);
            for ceiling in [200, 400, 800, 1600, 3200, 5000, 5000].map(Duration::from_millis) {
                let delay = tries.delay_after(&busy(None), Instant::now()).unwrap();
                assert!((ceiling / 2..=ceiling).contains(&delay), "{delay:?} of {ceiling:?}");
            }
            assert_eq!(tries.delay_after(&busy(None), Instant::now()), None);
        }
    }

    #[test]
    fn the_servers_delay_is_never_cut_short() {
        for milliseconds in [0, 1, 7, 999, 20_000] {
            let asked = Duration::from_millis(milliseconds);
            let mut tries = tries(RetryPolicy::default(), Repetition::Free, 1000);
            let delay = tries.delay_after(&busy(Some(asked)), Instant::now()).unwrap();
            assert!((asked..=asked * 6 / 5).contains(&delay), "{delay:?} instead of {asked:?}");
        }
    }

    #[test]
    fn a_wait_beyond_the_deadline_is_not_begun() {
        let late = busy(Some(Duration::from_secs(5)));
        let now = Instant::now();
        assert_eq!(tries(RetryPolicy::default(), Repetition::Free, 4).delay_after(&late, now), None);
        assert!(tries(RetryPolicy::default(), Repetition::Free, 7).delay_after(&late, now).is_some());
        let never = busy(Some(Duration::MAX));
        assert_eq!(tries(RetryPolicy::default(), Repetition::Free, 7).delay_after(&never, now), None);
    }

    #[test]
    fn no_tries_count_as_one_and_a_huge_policy_is_no_overflow() {
        for max_tries in [0, 1] {
            let policy = RetryPolicy { max_tries, ..RetryPolicy::default() };
            assert_eq!(tries(policy, Repetition::Free, 9).delay_after(&busy(None), Instant::now()), None);
        }
        let huge = RetryPolicy { max_tries: u32::MAX, first_delay: Duration::MAX, max_delay: Duration::from_secs(1) };
        let mut tries = tries(huge, Repetition::Free, 1000);
        for _ in 0..100 {
            assert!(tries.delay_after(&busy(None), Instant::now()).is_some());
        }
    }
}
