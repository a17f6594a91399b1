// Package servertest runs the real service as a child process, for tests: started with settings, read until it is ready,
// ended as an operator would end it.
//
// The executable is the repository's own, .venv/bin/ironclaw-memory, unless IRONCLAW_MEMORY_SERVER names another.
package servertest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	variable = "IRONCLAW_MEMORY_SERVER"
	// patience is generous: the machine may be busy with other tests, and a server that hangs fails the test anyway.
	patience = time.Minute
)

var ready = regexp.MustCompile(`^ironclaw-memory is ready on (\S+)`)

// Server is a running service.
type Server struct {
	// Target is where it listens.
	Target string

	process *exec.Cmd
	errors  bytes.Buffer // what it logged; to be read after its end
	output  chan struct{}
}

// Root returns the repository's folder.
func Root() (string, error) {
	folder, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(folder, "protos", "ironclaw")); missing == nil {
			return folder, nil
		}
		if filepath.Dir(folder) == folder {
			return "", errors.New("this isn't the repository's checkout, so there is no server to test with")
		}
		folder = filepath.Dir(folder)
	}
	return "", err
}

// Command returns a command of the service's executable, free of settings from the environment.
func Command(arguments ...string) (*exec.Cmd, error) {
	executable := os.Getenv(variable)
	if executable == "" {
		root, err := Root()
		if err != nil {
			return nil, err
		}
		executable = filepath.Join(root, ".venv", "bin", "ironclaw-memory")
	}
	command := exec.Command(executable, arguments...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "IRONCLAW_MEMORY_") {
			command.Env = append(command.Env, entry)
		}
	}
	return command, nil
}

// Start runs the service on a data folder, which it makes when there is none, and a free port of loopback, and returns once it is ready. Stop ends it.
func Start(dataFolder string, arguments ...string) (*Server, error) {
	arguments = append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dataFolder}, arguments...)
	process, err := Command(arguments...)
	if err != nil {
		return nil, err
	}
	server := &Server{process: process, output: make(chan struct{})}
	process.Stderr = &server.errors
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("%w (make setup at the repository's root installs the service)", err)
	}
	return server, server.await(stdout)
}

// await reads what the server prints until it says where it listens, and goes on reading, so that it is never held up.
func (s *Server) await(stdout io.Reader) error {
	found := make(chan string, 1)
	go func() {
		defer close(s.output)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if match := ready.FindStringSubmatch(lines.Text()); match != nil {
				found <- match[1]
			}
		}
	}()
	select {
	case s.Target = <-found:
		return nil
	case <-s.output:
	case <-time.After(patience):
	}
	return errors.Join(errors.New("the server didn't start"), s.end(os.Kill))
}

// Stop asks the server to end, and returns an error unless it does so in good order.
func (s *Server) Stop() error {
	return s.end(syscall.SIGTERM)
}

func (s *Server) end(signal os.Signal) error {
	killer := time.AfterFunc(patience, func() { _ = s.process.Process.Kill() })
	defer killer.Stop()
	_ = s.process.Process.Signal(signal)
	<-s.output // the pipe must be read to its end before Wait
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w:\n%s", err, s.errors.String())
	}
	return nil
}
