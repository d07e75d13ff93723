// Package llmtest gives tests the servers of package loopback: they close with
// the test, and a request that a server refused fails it, unless the test asked
// for TolerateProblems.
package llmtest

import (
	"encoding/json"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
)

// What a test says of a server, see package loopback.
type (
	Server      = loopback.Server
	Turn        = loopback.Turn
	Call        = loopback.Call
	Usage       = loopback.Usage
	Recorded    = loopback.Recorded
	OllamaModel = loopback.OllamaModel
)

// DefaultUsage is what a turn counts unless it says otherwise.
var DefaultUsage = loopback.DefaultUsage

// Say is a turn of one text, a word per delta.
func Say(text string) Turn { return loopback.Say(text) }

// Body decodes the body of a request into v and fails the test if it cannot.
func Body(t testing.TB, r Recorded, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("request body: %v\n%s", err, r.Body)
	}
}

// NewAnthropic starts a Messages server. Its URL is the root; the endpoint is
// /v1/messages.
func NewAnthropic(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	return watch(t, loopback.NewAnthropic(turns...))
}

// NewChat starts a Chat Completions server that asks for a key. Its endpoint is
// /v1/chat/completions (and /api/v1/chat/completions), so a base URL is URL +
// "/v1".
func NewChat(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	return watch(t, loopback.NewChat(turns...))
}

// NewKeylessChat is NewChat for endpoints that take no key.
func NewKeylessChat(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	return watch(t, loopback.NewKeylessChat(turns...))
}

// NewResponses starts a Responses server. Its endpoint is /v1/responses.
func NewResponses(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	return watch(t, loopback.NewResponses(turns...))
}

// NewOllama starts a daemon with one model, named by each request. Its URL is
// the root; it serves /api/chat, /api/show, /api/tags and, as the compatible
// wire, /v1/chat/completions.
func NewOllama(t testing.TB, model OllamaModel, turns ...Turn) *Server {
	t.Helper()
	return watch(t, loopback.NewOllama(model, turns...))
}

// watch ends a server with its test and reports what was wrong.
func watch(t testing.TB, s *Server) *Server {
	t.Helper()
	t.Cleanup(func() {
		s.Close()
		if s.Strict() {
			for _, p := range s.Problems() {
				t.Errorf("llmtest: %s", p)
			}
		}
	})
	return s
}
