package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

var busy = refusal{code: codes.Unavailable, reason: ReasonOverloaded}.error()

func TestNoOtherStatusIsRepeated(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		for _, change := range []change{none, unconditional, conditional} {
			one := tries{change: change}
			if got := one.mayRepeat(&Error{Code: code}); got != (code == codes.Unavailable) {
				t.Errorf("%v, %v: repeated is %v", code, change, got)
			}
		}
	}
}

func TestReasonsDecideWhatIsRepeated(t *testing.T) {
	for _, test := range []struct {
		code   codes.Code
		reason Reason
		change change
		want   bool
	}{
		{codes.Unavailable, ReasonOverloaded, none, true},
		{codes.Unavailable, ReasonOverloaded, conditional, true},
		{codes.Unavailable, ReasonStorageUnavailable, unconditional, true},
		{codes.Unavailable, ReasonOutcomeUnknown, none, false},
		{codes.Unavailable, ReasonOutcomeUnknown, unconditional, false},
		{codes.ResourceExhausted, ReasonRateLimited, unconditional, true},
		{codes.ResourceExhausted, ReasonScopeQuota, unconditional, false},
		{codes.Aborted, ReasonCASExhausted, unconditional, true},
		{codes.Aborted, ReasonCASExhausted, conditional, false},
		{codes.Aborted, ReasonCASExhausted, none, false},
		{codes.Aborted, ReasonContentChanged, unconditional, false},
		{codes.Aborted, ReasonContentChanged, conditional, false},
		{codes.DeadlineExceeded, ReasonDeadlineExceeded, none, false},
	} {
		one := tries{change: test.change}
		if got := one.mayRepeat(&Error{Code: test.code, Reason: test.reason}); got != test.want {
			t.Errorf("%+v: repeated is %v", test, got)
		}
	}
}

func TestDelaysGrowAndAreSpread(t *testing.T) {
	policy := RetryPolicy{FirstDelay: 100 * time.Millisecond, MaxDelay: 350 * time.Millisecond}.withDefaults()
	for n, ceiling := range []time.Duration{100e6, 200e6, 350e6, 350e6} {
		for _, chance := range []float64{0, 0.5, 0.999} {
			one := tries{pacing: pacing{policy: policy, random: func() float64 { return chance }}, failed: n + 1}
			want := time.Duration(float64(ceiling) * (0.5 + 0.5*chance))
			if got := one.delay(nil); got != want {
				t.Errorf("after %d failures with chance %v: %v, not %v", n+1, chance, got, want)
			}
		}
	}
}

func TestTheServersDelayIsNeverCutShort(t *testing.T) {
	policy := RetryPolicy{MaxDelay: time.Millisecond}.withDefaults()
	for _, asked := range []time.Duration{0, time.Millisecond, time.Minute, math.MaxInt64} {
		for _, chance := range []float64{0, 0.999} {
			one := tries{pacing: pacing{policy: policy, random: func() float64 { return chance }}, failed: 1}
			if got := one.delay(&asked); got < asked || float64(got) > 1.2*float64(asked) {
				t.Errorf("asked for %v: %v", asked, got)
			}
		}
	}
}

func TestAReadIsRepeatedUntilItSucceeds(t *testing.T) {
	script, client, waits := connect(t)
	script.then(busy).then(busy).then(&memoryv1.ReadResponse{Content: "tea"})
	answer, err := client.Read(t.Context(), "MEMORY.md")
	if err != nil || answer.GetContent() != "tea" {
		t.Fatal(answer, err)
	}
	calls := script.calls()
	if len(calls) != 3 || len(waits.asked) != 2 {
		t.Errorf("%d calls with %d waits between them", len(calls), len(waits.asked))
	}
	if ids := calls[0].metadata.Get("x-ironclaw-request-id"); len(ids) != 0 {
		t.Errorf("a read has the request id %v", ids)
	}
}

func TestAllTriesOfAWriteCarryOneRequestID(t *testing.T) {
	script, client, _ := connect(t)
	script.then(busy).then(status.Error(codes.Unavailable, "gone")).then(&memoryv1.WriteResponse{Replayed: true})
	script.then(&memoryv1.WriteResponse{})
	if answer, err := client.Write(t.Context(), "tea", Target("memory")); err != nil || !answer.GetReplayed() {
		t.Fatal(answer, err)
	}
	if _, err := client.Write(t.Context(), "tea", Target("memory")); err != nil {
		t.Fatal(err)
	}
	calls := script.calls()
	id := calls[0].value("x-ironclaw-request-id")
	if len(id) < 20 {
		t.Errorf("the id %q can't be unique", id)
	}
	for _, call := range calls[1:3] {
		if call.value("x-ironclaw-request-id") != id || !proto.Equal(call.request, calls[0].request) {
			t.Errorf("another try is another change: %v", call)
		}
	}
	if calls[3].value("x-ironclaw-request-id") == id {
		t.Error("a second write has the first one's id, and would be taken for a repetition")
	}
}

func TestEveryChangeCarriesARequestIDAndNoReadDoes(t *testing.T) {
	ctx := t.Context()
	for name, test := range map[string]struct {
		call   func(*Client) error
		answer any
		change bool
	}{
		"Write":       {func(c *Client) error { _, err := c.Write(ctx, "x"); return err }, &memoryv1.WriteResponse{}, true},
		"ProfileSet":  {func(c *Client) error { _, err := c.ProfileSet(ctx); return err }, &memoryv1.ProfileSetResponse{}, true},
		"InvokeTool":  {func(c *Client) error { _, err := c.Invoke(ctx, "x", ""); return err }, &memoryv1.InvokeToolResponse{}, true},
		"Restore":     {func(c *Client) error { _, err := c.RestoreVersion(ctx, "x", 1); return err }, &memoryv1.RestoreVersionResponse{}, true},
		"Delete":      {func(c *Client) error { _, err := c.DeleteDocument(ctx, "x"); return err }, &memoryv1.DeleteDocumentResponse{}, true},
		"Record":      {func(c *Client) error { _, err := c.RecordInteraction(ctx, "r", nil); return err }, &memoryv1.RecordInteractionResponse{}, true},
		"Claim":       {func(c *Client) error { _, err := c.ClaimCuration(ctx); return err }, &memoryv1.ClaimCurationResponse{}, true},
		"Complete":    {func(c *Client) error { _, err := c.CompleteCuration(ctx, "l"); return err }, &memoryv1.CompleteCurationResponse{}, false},
		"Search":      {func(c *Client) error { _, err := c.Search(ctx, "x"); return err }, &memoryv1.SearchResponse{}, false},
		"Tree":        {func(c *Client) error { _, err := c.Tree(ctx, ""); return err }, &memoryv1.TreeResponse{}, false},
		"ProfileRead": {func(c *Client) error { _, err := c.ProfileRead(ctx); return err }, &memoryv1.ProfileReadResponse{}, false},
		"ReadVersion": {func(c *Client) error { _, err := c.ReadVersion(ctx, "x", 1); return err }, &memoryv1.ReadVersionResponse{}, false},
		"Stats":       {func(c *Client) error { _, err := c.GetScopeStats(ctx); return err }, &memoryv1.GetScopeStatsResponse{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			script, client, _ := connect(t)
			script.then(busy).then(test.answer)
			if err := test.call(client); err != nil {
				t.Fatal(err)
			}
			calls := script.calls()
			first, second := calls[0].value("x-ironclaw-request-id"), calls[1].value("x-ironclaw-request-id")
			if (first != "") != test.change || first != second {
				t.Errorf("the tries have the ids %q and %q", first, second)
			}
		})
	}
}

func TestTheCallersRequestIDIsUsed(t *testing.T) {
	script, client, _ := connect(t)
	script.then(&memoryv1.WriteResponse{})
	if _, err := client.Write(t.Context(), "tea", RequestID("order-7")); err != nil {
		t.Fatal(err)
	}
	if id := script.calls()[0].value("x-ironclaw-request-id"); id != "order-7" {
		t.Errorf("the id is %q", id)
	}
}

func TestTriesAreLimitedAndTheLastErrorIsReturned(t *testing.T) {
	last := refusal{code: codes.Unavailable, reason: ReasonShuttingDown}.error()
	for max, policy := range map[int]RetryPolicy{1: NoRetry, 3: {MaxTries: 3}, 4: {}} {
		t.Run(fmt.Sprint(max), func(t *testing.T) {
			script, client, waits := connect(t, WithRetry(policy))
			for range max - 1 {
				script.then(busy)
			}
			script.then(last).then(&memoryv1.ReadResponse{})
			_, err := client.Read(t.Context(), "MEMORY.md")
			if !errors.Is(err, ReasonShuttingDown) {
				t.Error(err)
			}
			if calls := script.calls(); len(calls) != max || len(waits.asked) != max-1 {
				t.Errorf("%d calls, %d waits", len(calls), len(waits.asked))
			}
		})
	}
}

func TestTheServersDelayOnTheWireIsTheLeastWait(t *testing.T) {
	script, client, waits := connect(t, WithTimeout(time.Hour))
	slow := refusal{code: codes.ResourceExhausted, reason: ReasonRateLimited, delay: 90 * time.Second}.error()
	script.then(slow).then(&memoryv1.ReadResponse{})
	if _, err := client.Read(t.Context(), "MEMORY.md"); err != nil {
		t.Fatal(err)
	}
	if len(waits.asked) != 1 || waits.asked[0] < 90*time.Second || waits.asked[0] > 108*time.Second {
		t.Errorf("waited for %v", waits.asked)
	}
}

func TestAWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	script, client, waits := connect(t)
	script.then(refusal{code: codes.Unavailable, reason: ReasonOverloaded, delay: time.Minute}.error())
	_, err := client.Read(t.Context(), "MEMORY.md", Timeout(30*time.Second))
	if !errors.Is(err, ReasonOverloaded) || len(waits.asked) != 0 || len(script.calls()) != 1 {
		t.Errorf("%v after the waits %v", err, waits.asked)
	}
}

func TestACallThatIsCancelledWhileItWaitsSaysSo(t *testing.T) {
	script, client, _ := connect(t)
	script.then(busy)
	ctx, cancel := context.WithCancel(t.Context())
	client.session.wait = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return sleep(ctx, time.Hour)
	}
	_, err := client.Read(ctx, "MEMORY.md")
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
}

func TestTheDeadlineIsTenSecondsUnlessSaidOtherwise(t *testing.T) {
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	late, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for name, test := range map[string]struct {
		ctx      context.Context
		client   []Option
		call     []CallOption
		from, to time.Duration
	}{
		// The lower bounds leave the machine all the time that tells one case from another.
		"default":                    {ctx: t.Context(), from: time.Millisecond, to: 10 * time.Second},
		"of the client":              {ctx: t.Context(), client: []Option{WithTimeout(time.Minute)}, from: 20 * time.Second, to: time.Minute},
		"of the call":                {ctx: t.Context(), call: []CallOption{Timeout(4 * time.Minute)}, from: 2 * time.Minute, to: 4 * time.Minute},
		"of a context that is short": {ctx: soon, client: []Option{WithTimeout(time.Hour)}, from: time.Millisecond, to: 5 * time.Minute},
		"of a context that is long":  {ctx: late, from: 10 * time.Minute, to: time.Hour},
		"of both, the sooner":        {ctx: soon, call: []CallOption{Timeout(time.Hour)}, from: time.Millisecond, to: 5 * time.Minute},
		"none":                       {ctx: t.Context(), client: []Option{WithTimeout(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			script, client, _ := connect(t, test.client...)
			script.then(&memoryv1.ReadResponse{})
			if _, err := client.Read(test.ctx, "MEMORY.md", test.call...); err != nil {
				t.Fatal(err)
			}
			left := script.calls()[0].left
			if left < test.from || left > test.to+test.to/10 { // the wire rounds a timeout up
				t.Errorf("the service sees %v", left)
			}
		})
	}
}

func TestTheDeadlineIsForAllTriesTogether(t *testing.T) {
	script, client, _ := connect(t)
	script.then(busy).then(busy).then(busy).then(busy)
	var deadlines []time.Time
	client.session.wait = func(ctx context.Context, _ time.Duration) error {
		deadline, _ := ctx.Deadline()
		deadlines = append(deadlines, deadline)
		return nil
	}
	_, _ = client.Read(t.Context(), "MEMORY.md")
	for _, deadline := range deadlines {
		if !deadline.Equal(deadlines[0]) {
			t.Errorf("a later try got more time: %v", deadlines)
		}
	}
	if len(deadlines) != 3 {
		t.Errorf("%d waits", len(deadlines))
	}
}

func TestWhatMustNotBeRepeatedIsTriedOnce(t *testing.T) {
	for _, refused := range []refusal{
		{code: codes.Unavailable, reason: ReasonOutcomeUnknown},
		{code: codes.Aborted, reason: ReasonContentChanged},
		{code: codes.DeadlineExceeded, reason: ReasonDeadlineExceeded},
		{code: codes.Internal, reason: ReasonInternal},
	} {
		script, client, _ := connect(t)
		script.then(refused.error()).then(&memoryv1.WriteResponse{})
		_, err := client.Write(t.Context(), "tea")
		if !errors.Is(err, refused.reason) || len(script.calls()) != 1 {
			t.Errorf("%v: %v after %d calls", refused.reason, err, len(script.calls()))
		}
	}
}

func TestALostRaceIsRunAgainOnlyWithoutAPrecondition(t *testing.T) {
	lost := refusal{code: codes.Aborted, reason: ReasonCASExhausted}.error()
	ctx := t.Context()
	for name, conditional := range map[string]func(*Client) error{
		"write":   func(c *Client) error { _, err := c.Write(ctx, "x", ExpectedSHA256("ab")); return err },
		"create":  func(c *Client) error { _, err := c.Write(ctx, "x", MustNotExist()); return err },
		"restore": func(c *Client) error { _, err := c.RestoreVersion(ctx, "x", 1, ExpectedSHA256("ab")); return err },
		"delete":  func(c *Client) error { _, err := c.DeleteDocument(ctx, "x", ExpectedSHA256("ab")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			script, client, _ := connect(t)
			script.then(lost).then(&memoryv1.WriteResponse{}).then(lost)
			if _, err := client.Write(ctx, "tea"); err != nil {
				t.Error(err)
			}
			if err := conditional(client); !errors.Is(err, ErrConflict) || len(script.calls()) != 3 {
				t.Errorf("%v after %d calls", err, len(script.calls()))
			}
		})
	}
}
