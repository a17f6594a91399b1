package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/ironclaw-memory/clients/go/memory"
)

const tree = "ironclaw.memory.tree"

// caller makes the calls of a scenario, each in a scope.
type caller interface {
	// invoke calls a tool and returns its result; an error is one of the call itself.
	invoke(scope memory.Scope, tool, arguments string) (memory.ToolResult, error)
	// call makes an RPC from and to protobuf JSON, with the protos' own field names.
	call(scope memory.Scope, rpc string, request []byte) ([]byte, error)
}

// overClient calls through the client.
type overClient struct {
	ctx    context.Context
	client *memory.Client
}

func (c overClient) invoke(scope memory.Scope, tool, arguments string) (memory.ToolResult, error) {
	return c.client.Invoke(c.ctx, tool, arguments, memory.InScope(scope))
}

func (c overClient) call(scope memory.Scope, rpc string, request []byte) ([]byte, error) {
	method, err := methodOf(rpc)
	if err != nil {
		return nil, err
	}
	input, unknown := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	output, unlisted := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err := errors.Join(unknown, unlisted); err != nil {
		return nil, err
	}
	asked, answer := input.New().Interface(), output.New().Interface()
	if err := protojson.Unmarshal(request, asked); err != nil {
		return nil, err
	}
	if err := c.client.WithScope(scope).Conn().Invoke(c.ctx, "/"+rpc, asked, answer); err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(answer)
}

// methodOf returns what the generated code knows of package.Service/Method.
func methodOf(rpc string) (protoreflect.MethodDescriptor, error) {
	for i, c := range rpc {
		if c != '/' {
			continue
		}
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(rpc[:i]))
		if service, ok := found.(protoreflect.ServiceDescriptor); ok {
			if method := service.Methods().ByName(protoreflect.Name(rpc[i+1:])); method != nil {
				return method, nil
			}
		}
		return nil, errors.Join(err, fmt.Errorf("there is no method %s", rpc))
	}
	return nil, fmt.Errorf("%s isn't a full name", rpc)
}

// run is one scenario on its way.
type run struct {
	scenario scenario
	tenant   string
	caller   caller
	values   values
}

// runScenario runs a scenario in a tenant that nobody else uses. A mismatch while the date changes in a zone that the
// scenario speaks of proves nothing: it is run once more.
func runScenario(scenario scenario, tenant string, caller caller, now func() time.Time) error {
	before, err := scenario.dates(now())
	if err != nil {
		return err
	}
	err = newRun(scenario, tenant, caller, now).steps()
	if after, _ := scenario.dates(now()); err == nil || after == before {
		return err
	}
	return newRun(scenario, tenant+"-next-day", caller, now).steps()
}

func newRun(scenario scenario, tenant string, caller caller, now func() time.Time) *run {
	return &run{scenario, tenant, caller, values{map[string]string{}, now}}
}

func (r *run) steps() error {
	for index, step := range r.scenario.Steps {
		if err := r.step(step); err != nil {
			return fmt.Errorf("step %d (%s%s): %w", index+1, step.Tool, step.RPC, err)
		}
	}
	return nil
}

func (r *run) step(step step) error {
	scope, err := r.scopeOf(step)
	switch {
	case err != nil:
		return err
	case (step.Tool == "") == (step.RPC == ""):
		return errors.New("a step calls either a tool or an RPC")
	case step.Tool != "":
		return r.toolStep(step, scope)
	}
	return r.rpcStep(step, scope)
}

func (r *run) scopeOf(step step) (memory.Scope, error) {
	scope := memory.Scope{Tenant: r.tenant, User: "alice", Thread: r.scenario.Thread}
	axes := map[string]*string{
		"tenant": &scope.Tenant, "user": &scope.User, "agent": &scope.Agent, "project": &scope.Project,
		"thread": &scope.Thread,
	}
	for axis, value := range step.As {
		switch place := axes[axis]; {
		case place == nil:
			return scope, fmt.Errorf("nobody knows the axis %q", axis)
		case value == nil:
			*place = ""
		case *value == "":
			return scope, fmt.Errorf("%s is empty, which this client takes for absent", axis)
		case axis == "tenant":
			*place = r.tenant + "-" + *value
		default:
			*place = *value
		}
	}
	return scope, nil
}

func (r *run) toolStep(step step, scope memory.Scope) error {
	arguments, err := r.text(step.Arguments)
	if err != nil {
		return err
	}
	result, err := r.caller.invoke(scope, step.Tool, string(arguments))
	if err != nil {
		return fmt.Errorf("the call itself failed: %w", err)
	}
	if failure := result.GetError(); failure != nil {
		told := map[string]any{"kind": failure.GetKind(), "reason": failure.GetReason()}
		if step.Error == nil {
			return fmt.Errorf("expected no error, got %v", told)
		}
		return r.matchText(step.Error, told, "error")
	}
	if step.Error != nil {
		return fmt.Errorf("expected the error %s, got the output %s", step.Error, result.GetOutputJson())
	}
	return r.matchOutput(step, result.GetOutputJson())
}

func (r *run) matchOutput(step step, text string) error {
	output, err := parse([]byte(text))
	if err != nil || step.Output == nil {
		return err
	}
	if step.Tool != tree {
		return r.matchText(step.Output, output, "output")
	}
	expected, err := r.parsed(step.Output)
	if err == nil && !reflect.DeepEqual(expected, output) {
		err = fmt.Errorf("expected exactly %v, got %v", expected, output)
	}
	return err
}

func (r *run) matchText(expected json.RawMessage, actual any, where string) error {
	wanted, err := r.parsed(expected)
	if err != nil {
		return err
	}
	return matcher{}.match(wanted, actual, where)
}

func (r *run) parsed(text json.RawMessage) (any, error) {
	value, err := parse(text)
	if err != nil {
		return nil, err
	}
	return r.values.resolve(value)
}

func (r *run) text(value any) ([]byte, error) {
	resolved, err := r.values.resolve(value)
	if err != nil {
		return nil, err
	}
	return asJSON(resolved)
}

func (r *run) rpcStep(step step, scope memory.Scope) error {
	request, err := r.text(step.Request)
	if err != nil {
		return err
	}
	answer, err := r.caller.call(scope, step.RPC, request)
	if err != nil {
		return matchStatus(step, err)
	}
	if step.Status != "" {
		return fmt.Errorf("expected %s %s, got the response %s", step.Status, step.Reason, answer)
	}
	response, err := parse(answer)
	if err != nil {
		return err
	}
	if err := r.matchResponse(step, response); err != nil {
		return err
	}
	return r.save(step, response)
}

func matchStatus(step step, err error) error {
	var failure *memory.Error
	if !errors.As(err, &failure) {
		return err
	}
	name := code.Code(failure.Code).String()
	if step.Status == "" || step.Status != name || step.Reason != string(failure.Reason) {
		return fmt.Errorf("expected the status %q %q, got %s: %w", step.Status, step.Reason, name, failure)
	}
	return nil
}

func (r *run) matchResponse(step step, response any) error {
	if step.Response == nil {
		return nil
	}
	expected, err := r.values.resolve(step.Response)
	if err != nil {
		return err
	}
	return matcher{absentIsDefault: true}.match(expected, response, "response")
}

func (r *run) save(step step, response any) error {
	fields, _ := response.(map[string]any)
	for name, key := range step.Save {
		value, ok := fields[key].(string)
		if !ok {
			return fmt.Errorf("the response has no text %q to save", key)
		}
		r.values.saved[name] = value
	}
	return nil
}
