package memory

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc/codes"
)

// RetryPolicy is how often and how patiently calls are repeated. All of it happens within the call's deadline.
//
// What may be repeated:
//
//  1. UNAVAILABLE, on reads and on changes. Repeating a change is safe because every change carries a request id, the
//     same on all tries, under which the service makes it once and answers later tries with the first result.
//  2. Not [ReasonOutcomeUnknown], although it is UNAVAILABLE. A repetition would be harmless, but its answer "done"
//     couldn't make durable what the disk refused, and would hide from the caller that it may be lost.
//  3. [ReasonCASExhausted], for a change without a precondition: nothing was written, and it still makes sense. With a
//     precondition the caller has to read again; [ReasonContentChanged] is never repeated.
//  4. [ReasonRateLimited]: nothing was started, and the server says how long to wait.
//  5. Nothing else. In particular not DEADLINE_EXCEEDED: the time that the caller gave is over.
//
// gRPC's own retry policy isn't used: it goes by status code alone, is set for each method, and doesn't read the
// server's RetryInfo, so it can't tell 2 from 1 or a conditional write from a plain one.
type RetryPolicy struct {
	// MaxTries is the most tries, the first included; 1 turns repeating off. Zero means 4.
	MaxTries int
	// FirstDelay is the wait before the second try when the server names none; it doubles with each try. Zero means 200 ms.
	FirstDelay time.Duration
	// MaxDelay is the longest such wait. A wait that the server names is kept even when longer. Zero means 5 s.
	MaxDelay time.Duration
}

// NoRetry makes every call once.
var NoRetry = RetryPolicy{MaxTries: 1}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxTries <= 0 {
		p.MaxTries = 4
	}
	if p.FirstDelay <= 0 {
		p.FirstDelay = 200 * time.Millisecond
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = 5 * time.Second
	}
	return p
}

// pacing is how the tries of one client wait: the policy, and where time and chance come from.
type pacing struct {
	policy RetryPolicy
	// wait returns when the time is over, or with the context's error when that ends first.
	wait func(context.Context, time.Duration) error
	// random returns a number from 0 up to 1, to spread the waits.
	random func() float64
}

// tries counts the tries of one call.
type tries struct {
	pacing
	change change
	failed int
}

// waitAfter counts a failed try and waits for the next one; it returns the error to hand to the caller when there shall
// be none. A wait that would outlast the caller's time is not begun: the caller gets the error while it can still act.
func (t *tries) waitAfter(ctx context.Context, failure *Error) error {
	t.failed++
	if t.failed >= t.policy.MaxTries || !t.mayRepeat(failure) {
		return failure
	}
	delay := t.delay(failure.RetryDelay)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return failure
	}
	if err := t.wait(ctx, delay); err != nil {
		return interrupted(err, failure)
	}
	return nil
}

func (t *tries) mayRepeat(failure *Error) bool {
	switch {
	case failure.Code == codes.Unavailable:
		return failure.Reason != ReasonOutcomeUnknown
	case failure.Reason == ReasonRateLimited:
		return true
	default:
		return failure.Reason == ReasonCASExhausted && t.change == unconditional
	}
}

// delay returns a spread wait, so that callers who were refused together don't come back together.
func (t *tries) delay(asked *time.Duration) time.Duration {
	if asked != nil { // never sooner than the server asked
		return scale(*asked, 1+0.2*t.random())
	}
	ceiling := t.policy.FirstDelay
	for range t.failed - 1 {
		ceiling = min(2*ceiling, t.policy.MaxDelay)
	}
	return scale(min(ceiling, t.policy.MaxDelay), 0.5+0.5*t.random())
}

func scale(d time.Duration, factor float64) time.Duration {
	scaled := float64(d) * factor
	if scaled >= math.MaxInt64 { // converting it would make it negative
		return math.MaxInt64
	}
	return time.Duration(scaled)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
