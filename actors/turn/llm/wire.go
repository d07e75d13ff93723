package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// connectTimeout bounds one TCP connect and one TLS handshake. Source:
// runtime.md 3.
const connectTimeout = 30 * time.Second

// maxErrorBodyBytes bounds how much of a provider's error reaches a person.
const maxErrorBodyBytes = 4 << 10

// NewHTTPClient returns a client fit for long streams: the environment's
// proxy, HTTP/2 where offered, 30 s to connect, no limit on the whole exchange
// (the idle limit does that) and no transparent compression, which would hold
// deltas back.
func NewHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	return withoutRedirects(&http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   connectTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   8,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}})
}

// withoutRedirects returns a copy of c that reports a redirect as the answer:
// following one would carry a key to another host.
func withoutRedirects(c *http.Client) *http.Client {
	if c == nil {
		return NewHTTPClient()
	}
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// wire is what every networked provider has.
type wire struct {
	id      contract.ProviderID
	base    string
	header  http.Header
	client  *http.Client
	learned *memo
}

// ID returns the provider id.
func (w *wire) ID() contract.ProviderID { return w.id }

// name is how texts speak of the provider.
func (w *wire) name() string { return providerName(w.id) }

// providerNames are the providers as a sentence names them, after the labels of
// the picker's rows.
var providerNames = map[contract.ProviderID]string{
	contract.ProviderAnthropic:  "Anthropic",
	contract.ProviderOpenAI:     "OpenAI",
	contract.ProviderOpenRouter: "OpenRouter",
	contract.ProviderMiniMax:    "MiniMax",
	contract.ProviderMiniMaxAPI: "MiniMax",
	contract.ProviderOllama:     "Ollama",
	contract.ProviderCustom:     "the custom endpoint",
	contract.ProviderDemo:       "the offline demo",
}

// providerName is a provider's name inside a sentence.
func providerName(id contract.ProviderID) string { return or(providerNames[id], string(id)) }

// leadingName is a provider's name where a sentence begins.
func leadingName(id contract.ProviderID) string { return capital(providerName(id)) }

// capital makes the first letter, which is ASCII, a capital one.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// APIError is an answer other than 2xx.
type APIError struct {
	Provider contract.ProviderID
	Status   int
	// Body is the answer's beginning, at most 4 KiB, without the key.
	Body string
	// RetryAfter is the wait the provider asked for, nil when it asked for none.
	RetryAfter *time.Duration
}

// Error has the form that runtime.md 3 fixes.
func (e *APIError) Error() string {
	return fmt.Sprintf("%s API error (%d): %s", capital(strings.TrimPrefix(providerName(e.Provider), "the ")), e.Status, e.Body)
}

// StreamError is an error object inside a stream that had begun with 200.
type StreamError struct {
	Provider contract.ProviderID
	// Status is the HTTP status that the error would have had, 0 if unknown.
	Status  int
	Message string
}

// Error returns the provider's own message.
func (e *StreamError) Error() string { return e.Message }

// IdleError is a provider that sent nothing for the idle limit.
type IdleError struct{ Limit time.Duration }

// Error has the form that runtime.md 2 fixes; with the default limit it is
// contract.TextStall.
func (e *IdleError) Error() string {
	return fmt.Sprintf("The provider sent nothing for %g s; send again to retry.", e.Limit.Seconds())
}

// ErrIncomplete is a stream that ended without its completion marker.
var ErrIncomplete = errors.New(contract.TextIncompleteStream)

// ConnectError is a provider that could not be reached, or a connection that
// broke.
type ConnectError struct {
	Provider contract.ProviderID
	Host     string
	// Began says that the provider had started to answer.
	Began bool
	// Transient says that the same request may succeed in a moment.
	Transient bool
	reason    string
	err       error
}

// Error returns plain sentences: what happened and what to do.
func (e *ConnectError) Error() string {
	if e.Began {
		return fmt.Sprintf("The connection to %s broke while it was answering: %s. Send again to retry.", providerName(e.Provider), e.reason)
	}
	advice := "Check the network and the base URL in Settings > Providers."
	if e.Provider == contract.ProviderOllama {
		advice = "Start Ollama (ollama serve), or change its URL in Settings > Providers."
	}
	return fmt.Sprintf("Could not reach %s at %s: %s. %s", providerName(e.Provider), e.Host, e.reason, advice)
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.err }

// connectError wraps a failure of the network in words. Texts are compared
// because the error numbers differ between systems.
func (w *wire) connectError(err error, began bool) error {
	e := &ConnectError{Provider: w.id, Host: hostOf(w.base), Began: began, err: err}
	var timeout net.Error
	var dns *net.DNSError
	text := strings.ToLower(err.Error())
	switch {
	case errors.As(err, &dns) && !dns.IsTimeout:
		e.reason = "the host name was not found"
	case errors.As(err, &timeout) && timeout.Timeout():
		e.reason, e.Transient = "the connection timed out", true
	case strings.Contains(text, "refused"):
		e.reason, e.Transient = "the connection was refused", true
	case strings.Contains(text, "reset"), strings.Contains(text, "broken pipe"), strings.Contains(text, "aborted"),
		strings.Contains(text, "closed idle"), strings.Contains(text, "goaway"), strings.Contains(text, "stream error"),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.reason, e.Transient = "the connection was closed", true
	case strings.Contains(text, "certificate"), strings.Contains(text, "x509"):
		e.reason = "its certificate was not accepted"
	default:
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		e.reason = strings.TrimRight(clip(err.Error(), 200), ".")
	}
	return e
}

func hostOf(base string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return base
}

// watch cancels an exchange that is silent for longer than limit. It counts
// only while somebody waits for the provider, so a slow consumer costs
// nothing.
type watch struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func newWatch(parent context.Context, limit time.Duration) *watch {
	w := &watch{parent: parent, limit: limit}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.timer = time.AfterFunc(limit, func() { w.cancel(&IdleError{Limit: limit}) })
	return w
}

// shorten changes how long the rest may take between two bytes.
func (w *watch) shorten(limit time.Duration) { w.limit = min(w.limit, limit) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause is why the exchange ended early: the caller's reason, then silence.
// nil means that it ended by itself.
func (w *watch) cause() error {
	if w.parent.Err() != nil {
		return context.Cause(w.parent)
	}
	var idle *IdleError
	if errors.As(context.Cause(w.ctx), &idle) {
		return idle
	}
	return nil
}

// answer is a 2xx response whose body is watched. Close it.
type answer struct {
	io.Reader
	body  io.ReadCloser
	watch *watch
	wire  *wire
	began bool
}

// Read waits for the provider, at most the idle limit.
func (a *answer) Read(p []byte) (int, error) {
	a.watch.timer.Reset(a.watch.limit)
	n, err := a.Reader.Read(p)
	a.watch.timer.Stop()
	a.began = a.began || n > 0
	if err != nil && err != io.EOF {
		if cause := a.watch.cause(); cause != nil {
			return n, cause
		}
		return n, a.wire.connectError(err, a.began)
	}
	return n, err
}

// Close ends the exchange, also one that has not ended by itself.
func (a *answer) Close() {
	a.watch.stop()
	a.body.Close() // Nothing is left to lose.
}

// exchange sends one POST with a JSON body. A 2xx is an answer; everything
// else an error in words, with the key taken out.
func (w *wire) exchange(ctx context.Context, h Hooks, path, key string, header http.Header, body []byte) (*answer, error) {
	guard := newWatch(ctx, h.limits().Idle)
	a, err := w.send(guard, h, path, key, header, body)
	if err != nil {
		guard.stop()
		return nil, err
	}
	return a, nil
}

func (w *wire) send(guard *watch, h Hooks, path, key string, header http.Header, body []byte) (*answer, error) {
	req, err := http.NewRequestWithContext(guard.ctx, http.MethodPost, w.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("The address of %s is not usable. Check its base URL in Settings > Providers.", w.name())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", config.UserAgent())
	req.Header.Set("Accept", "text/event-stream, application/x-ndjson, application/json")
	for _, more := range []http.Header{w.header, header} {
		for k, v := range more {
			req.Header[k] = v
		}
	}
	res, err := w.client.Do(req)
	if err != nil {
		if cause := guard.cause(); cause != nil {
			return nil, cause
		}
		return nil, w.connectError(err, false)
	}
	a := &answer{Reader: res.Body, body: res.Body, watch: guard, wire: w}
	if res.StatusCode/100 == 2 {
		if err := w.notAStream(a, res.Header.Get("Content-Type"), key); err != nil {
			a.Close()
			return nil, err
		}
		return a, nil
	}
	text := readBounded(a, key)
	a.Close()
	if cause := context.Cause(guard.parent); cause != nil {
		return nil, cause
	}
	if text == "" {
		text = http.StatusText(res.StatusCode)
	}
	return nil, &APIError{
		Provider: w.id, Status: res.StatusCode, Body: text,
		RetryAfter: retryAfter(res.Header.Get("Retry-After"), h.now()),
	}
}

// notAStream finds the answers of proxies, login pages and servers that ignore
// stream:true, which would otherwise read as a stream that broke off.
func (w *wire) notAStream(a *answer, contentType, key string) error {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	if kind = strings.TrimSpace(kind); kind != "application/json" && kind != "text/html" {
		return nil
	}
	if kind == "text/html" {
		return fmt.Errorf("%s answered with a web page instead of a stream. Check its base URL in Settings > Providers.", leadingName(w.id))
	}
	buffered := bufio.NewReader(a.Reader)
	a.Reader = buffered
	first := byte(0)
	for first == 0 {
		b, err := buffered.ReadByte()
		if err != nil {
			return nil // The decoder meets the same end and says so.
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			first = b
		}
	}
	buffered.UnreadByte() // A byte was just read.
	if first != '{' || w.id == contract.ProviderOllama {
		return nil
	}
	text := readBounded(a, key)
	if message, status := errorObject(json.RawMessage(text)); message != "" {
		return &StreamError{Provider: w.id, Status: status, Message: message}
	}
	return fmt.Errorf("%s answered without streaming, which PacketBench needs: %s", leadingName(w.id), clip(text, 200))
}

// readBounded returns the beginning of an error body, valid UTF-8, key taken
// out.
func readBounded(r io.Reader, key string) string {
	b, _ := io.ReadAll(io.LimitReader(r, maxErrorBodyBytes+int64(len(key)))) // What came is what is shown.
	return clip(strings.TrimSpace(redact(strings.ToValidUTF8(string(b), "\uFFFD"), key)), maxErrorBodyBytes)
}

// redact takes the key out of a text. Keys shorter than any real one are left:
// replacing "a" would make the text unreadable and hide nothing.
func redact(text, key string) string {
	if len(key) < 8 {
		return text
	}
	return strings.ReplaceAll(text, key, "[key]")
}

// clip cuts a text to n bytes at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// retryAfter reads seconds or an HTTP date. RFC 9110 section 10.2.3.
func retryAfter(value string, now time.Time) *time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	var d time.Duration
	if seconds, err := parseSeconds(value); err == nil {
		d = seconds
	} else if at, err := http.ParseTime(value); err == nil {
		d = max(at.Sub(now), 0)
	} else {
		return nil
	}
	return &d
}

// negotiate runs one request whose optional parameters a server may refuse:
// build makes the body without the parameters in drop. A refused one is
// remembered for this process and the request sent once more. Source:
// runtime.md 3.
func (w *wire) negotiate(model string, optional []string, build func(drop map[string]bool) ([]byte, error), send func(body []byte) (*answer, error)) (*answer, error) {
	place := w.base + " " + model
	for again := true; ; again = false {
		body, err := build(w.learned.droppedAt(place))
		if err != nil {
			return nil, err
		}
		a, err := send(body)
		var refused *APIError
		if !again || !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
			return a, err
		}
		name := refusedParameter(refused.Body, optional)
		if name == "" || !w.learned.drop(place, name) {
			return a, err
		}
	}
}

// refusedParameter returns the optional parameter that a 400 speaks of.
func refusedParameter(body string, optional []string) string {
	s := strings.ToLower(body)
	if !holds(s, "unknown", "unrecognized", "unsupported", "not supported", "not permitted", "extra inputs", "invalid parameter") {
		return ""
	}
	for _, name := range optional {
		if strings.Contains(s, name) {
			return name
		}
	}
	return ""
}

// memo is what was learned about endpoints: which parameters a base URL and
// model refuse, and what Ollama said about a model.
type memo struct {
	mu      sync.Mutex
	dropped map[string]map[string]bool
	shown   map[string]shownModel
}

// processMemo lives as long as the process, as runtime.md 3 asks.
var processMemo = newMemo()

func newMemo() *memo {
	return &memo{dropped: make(map[string]map[string]bool), shown: make(map[string]shownModel)}
}

// droppedAt returns a copy of the parameters refused at a place.
func (m *memo) droppedAt(place string) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	drop := make(map[string]bool, len(m.dropped[place]))
	for name := range m.dropped[place] {
		drop[name] = true
	}
	return drop
}

// drop remembers a refusal and reports whether it is news.
func (m *memo) drop(place, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped[place][name] {
		return false
	}
	if m.dropped[place] == nil {
		m.dropped[place] = make(map[string]bool)
	}
	m.dropped[place][name] = true
	return true
}

func (m *memo) show(place string) (shownModel, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.shown[place]
	return s, ok
}

func (m *memo) remember(place string, s shownModel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown[place] = s
}

// encode writes a request body: fields in the order of the struct, no HTML
// escapes, no line end. Equal values give equal bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("llm: encode the request: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
