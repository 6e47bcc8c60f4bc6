// SPDX-License-Identifier: Apache-2.0

// A Go service that knows nothing of Skein: with a second argument it burns a CPU; it answers
// net/http/pprof on loopback. At /flight it serves a trace of its own runtime, as one with a flight
// recorder would; what that holds it says in its first line, so that a capture can be held against it.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/trace"
	"time"
)

var burned uint64

//go:noinline
func burn() {
	for {
		burned++
	}
}

func record() []byte {
	var flight bytes.Buffer
	if err := trace.Start(&flight); err != nil {
		panic(err)
	}
	time.Sleep(50 * time.Millisecond)
	trace.Stop()
	return flight.Bytes()
}

// A trace that never ends.
func huge(w http.ResponseWriter, kept []byte) {
	if _, err := w.Write(kept); err != nil {
		return
	}
	for {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return
		}
	}
}

func main() {
	kept := record()
	if len(os.Args) > 2 {
		go burn()
	}
	http.HandleFunc("/flight", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(kept) })
	http.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/flight", http.StatusFound)
	})
	http.HandleFunc("/huge", func(w http.ResponseWriter, r *http.Request) { huge(w, kept) })
	said, _ := json.Marshal(map[string]any{
		"pid": os.Getpid(), "bytes": len(kept), "sha256": fmt.Sprintf("%x", sha256.Sum256(kept))})
	fmt.Println(string(said))
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
