package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ironclaw-memory/clients/go/internal/servertest"
)

var (
	folder string
	server *servertest.Server
	start  sync.Once
)

// target starts the real service for whoever asks first, and returns where it listens.
func target() string {
	start.Do(func() {
		var err error
		if server, err = servertest.Start(filepath.Join(folder, "data")); err != nil {
			panic(err)
		}
	})
	return server.Target
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	var err error
	if folder, err = os.MkdirTemp("", "ironclaw-memory-go-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	defer func() {
		if server == nil {
			return
		}
		if err := server.Stop(); err != nil {
			fmt.Println(err)
			code = 1
		}
	}()
	return m.Run()
}
