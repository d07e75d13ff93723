// Package loopback holds model providers that play a script: Anthropic Messages,
// OpenAI Chat Completions, OpenAI Responses and Ollama. The tests of the house
// use them through llmtest, and packetbench conformance gives one to the engine
// that it judges.
//
// Each server plays one [Turn] per model request and checks every request as
// strictly as the vendor does, or more: a text block that is blank, a tool call
// without its result, arguments that are no object. A request that fails the
// check is answered with 400 in the vendor's form and recorded in
// [Server.Problems]. [Server.Foreign] plays for somebody else's client, which is
// recorded and not judged; [NewAny] is such a server for a client whose wire is
// not known. All requests are recorded with their bodies as they came.
//
// Servers listen on 127.0.0.1, port 0, until [Server.Close]. Their methods may
// be called from any goroutine. The facts of the wires come from runtime.md 3
// and from the recorded traffic of the vendors' own kits.
package loopback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Turn is one scripted answer. Parts are sent in the order Thinking, Text,
// Calls, each string as one delta.
type Turn struct {
	Thinking []string
	Text     []string
	Calls    []Call

	// Status other than 0 and 200 answers with Body (or a vendor-like error
	// object made of Error) instead of a stream.
	Status int
	Header http.Header
	Body   string
	// Error is the message of an error; with Status 0 it is sent inside the
	// stream, after the parts.
	Error string
	// ErrorType is the vendor's error type, such as overloaded_error.
	ErrorType string

	// Raw replaces the whole stream with bytes; Writes splits it into single
	// writes of that many bytes (0 means one write).
	Raw    []byte
	Writes int

	// Pace is the pause after each event.
	Pace time.Duration
	// Stall keeps the socket open and silent after the parts, until the client
	// leaves. StallFirst does so before the first byte, headers included.
	Stall, StallFirst bool
	// Cut ends the stream after the parts without its completion marker.
	Cut bool
	// Reset breaks the connection after the parts.
	Reset bool
	// Wait, if set, is received from after the parts, before the end.
	Wait <-chan struct{}

	// Usage is what the stream counts; nil means the default counts below.
	// NoUsage sends none.
	Usage   *Usage
	NoUsage bool
}

// Call is a tool call. Arguments is JSON text, sent in a few pieces.
type Call struct{ ID, Name, Arguments string }

// Usage is a set of token counts.
type Usage struct{ Input, Output, CacheRead, CacheCreation uint64 }

// DefaultUsage is what a turn counts unless it says otherwise.
var DefaultUsage = Usage{Input: 120, Output: 25, CacheRead: 40, CacheCreation: 7}

// Say is a turn of one text, a word per delta.
func Say(text string) Turn { return Turn{Text: strings.SplitAfter(text, " ")} }

// Recorded is one request a server got.
type Recorded struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server is one loopback provider.
type Server struct {
	// URL is "http://127.0.0.1:port", without a path.
	URL string

	wire   wire
	mu     sync.Mutex
	turns  []Turn
	choose func(Recorded) Turn
	seen   []Recorded
	wrong  []string
	calm   bool
	other  bool
	left   chan struct{}
	refuse []string
	noChat int

	model OllamaModel
	http  *httptest.Server
}

// wire is what differs between the vendors.
type wire interface {
	// paths are the model endpoints.
	paths() []string
	// check returns what is wrong with a request, nil for nothing.
	check(r Recorded) []string
	// refusal is the body of an error answer.
	refusal(status int, kind, message string) string
	// play writes the events of a turn.
	play(w *writer, r Recorded, t Turn)
	contentType() string
}

func start(w wire, turns []Turn) *Server {
	s := &Server{wire: w, turns: slices.Clone(turns), left: make(chan struct{}, 64)}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close breaks every connection and waits until nothing of the server runs.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Strict reports whether a refused request is a fault: nobody asked for
// TolerateProblems.
func (s *Server) Strict() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.calm
}

// Then appends turns to the script.
func (s *Server) Then(turns ...Turn) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
	return s
}

// Choose picks each turn by its request instead of from the script.
func (s *Server) Choose(f func(Recorded) Turn) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = f
	return s
}

// Refuse answers a request that holds one of these top-level parameters with
// 400, as servers do that do not know them.
func (s *Server) Refuse(parameters ...string) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = parameters
	return s
}

// TolerateProblems says that requests will be refused on purpose.
func (s *Server) TolerateProblems() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm = true
	return s
}

// Foreign plays for a client that is not ours: what it sends is recorded and not
// judged, since a vendor's own kit may know parameters that are in no document.
func (s *Server) Foreign() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = true
	return s
}

// Requests returns the model requests so far, in order.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	var model []Recorded
	for _, r := range s.seen {
		if slices.Contains(s.wire.paths(), r.Path) {
			model = append(model, r)
		}
	}
	return model
}

// All returns every request so far, in order.
func (s *Server) All() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Problems returns what was wrong with the requests so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrong)
}

// Left receives once for each client that went away during a stall.
func (s *Server) Left() <-chan struct{} { return s.left }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 64<<20))
	if err != nil {
		return
	}
	r := Recorded{Path: req.URL.Path, Header: req.Header.Clone(), Body: body}
	s.mu.Lock()
	s.seen = append(s.seen, r)
	refuse, noChat, other := s.refuse, s.noChat, s.other
	s.mu.Unlock()

	if extra, ok := s.wire.(interface {
		serve(s *Server, w http.ResponseWriter, req *http.Request, r Recorded) bool
	}); ok && extra.serve(s, w, req, r) {
		return
	}
	if noChat != 0 && strings.HasPrefix(r.Path, "/api/") {
		http.Error(w, "404 page not found", noChat)
		return
	}
	if !slices.Contains(s.wire.paths(), r.Path) || req.Method != http.MethodPost {
		s.fault(w, http.StatusNotFound, "not_found_error", fmt.Sprintf("%s %s is not served here", req.Method, r.Path))
		return
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) == nil {
		for _, name := range refuse {
			if _, ok := top[name]; ok {
				s.answer(w, http.StatusBadRequest, "invalid_request_error", "Unsupported parameter: '"+name+"' is not supported with this model.", nil)
				return
			}
		}
	}
	if wrong := s.wire.check(r); len(wrong) > 0 && !other {
		s.fault(w, http.StatusBadRequest, "invalid_request_error", strings.Join(wrong, "; "))
		return
	}
	turn, ok := s.next(r)
	if !ok {
		s.fault(w, http.StatusBadRequest, "invalid_request_error", "the script has no turn left for this request")
		return
	}
	s.play(w, req, r, turn)
}

func (s *Server) next(r Recorded) (Turn, bool) {
	s.mu.Lock()
	choose := s.choose
	if choose == nil {
		defer s.mu.Unlock()
		if len(s.turns) == 0 {
			return Turn{}, false
		}
		t := s.turns[0]
		s.turns = s.turns[1:]
		return t, true
	}
	s.mu.Unlock()
	return choose(r), true
}

func (s *Server) fault(w http.ResponseWriter, status int, kind, message string) {
	s.mu.Lock()
	s.wrong = append(s.wrong, message)
	s.mu.Unlock()
	s.answer(w, status, kind, message, nil)
}

func (s *Server) answer(w http.ResponseWriter, status int, kind, message string, header http.Header) {
	for k, v := range header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, s.wire.refusal(status, kind, message)) // The client may be gone.
}

func (s *Server) play(w http.ResponseWriter, req *http.Request, r Recorded, t Turn) {
	if t.StallFirst {
		s.stall(req)
		return
	}
	if t.Status != 0 && t.Status != http.StatusOK {
		if t.Body == "" {
			s.answer(w, t.Status, t.ErrorType, t.Error, t.Header)
			return
		}
		for k, v := range t.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(t.Status)
		io.WriteString(w, t.Body) // The client may be gone.
		return
	}
	w.Header().Set("Content-Type", s.wire.contentType())
	for k, v := range t.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(http.StatusOK)
	out := &writer{w: w, req: req, server: s, turn: t}
	out.flush()
	if t.Raw != nil {
		out.raw(t.Raw, t.Writes)
		out.middle()
		return
	}
	s.wire.play(out, r, t)
}

func (s *Server) stall(req *http.Request) {
	<-req.Context().Done()
	select {
	case s.left <- struct{}{}:
	default:
	}
}

// writer sends events with pauses.
type writer struct {
	w      http.ResponseWriter
	req    *http.Request
	server *Server
	turn   Turn
}

func (w *writer) flush() {
	if f, ok := w.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (w *writer) raw(b []byte, size int) {
	if size <= 0 {
		size = max(len(b), 1)
	}
	for piece := range slices.Chunk(b, size) {
		if _, err := w.w.Write(piece); err != nil {
			return
		}
		w.flush()
		w.pause()
	}
}

func (w *writer) pause() {
	if w.turn.Pace <= 0 {
		return
	}
	select {
	case <-time.After(w.turn.Pace):
	case <-w.req.Context().Done():
	}
}

// event sends one SSE event; name may be empty.
func (w *writer) event(name string, data any) {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(mustJSON(data))
	b.WriteString("\n\n")
	w.raw(b.Bytes(), 0)
}

// middle does what the turn asks for between the parts and the end, and
// reports whether the stream is over.
func (w *writer) middle() (over bool) {
	t := w.turn
	if t.Wait != nil {
		select {
		case <-t.Wait:
		case <-w.req.Context().Done():
			return true
		}
	}
	switch {
	case t.Stall:
		w.server.stall(w.req)
		return true
	case t.Reset:
		// The server's own way to break a connection without a log line.
		panic(http.ErrAbortHandler)
	}
	return t.Cut
}

func (t Turn) usage() Usage {
	if t.Usage != nil {
		return *t.Usage
	}
	return DefaultUsage
}

func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// pieces cuts a text into a few deltas, at character boundaries.
func pieces(s string) []string {
	r := []rune(s)
	var out []string
	for p := range slices.Chunk(r, max(len(r)/3, 1)) {
		out = append(out, string(p))
	}
	return out
}

type object = map[string]any
