package bridge

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

func version() string { return config.Version }

// handler is the whole HTTP side: the place of a request is checked before
// anything else, the token before everything that tells or does something.
func (d *doors) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", d.health)
	mux.HandleFunc("GET /readyz", d.readiness)
	mux.HandleFunc("GET /ws", d.withRole(d.serveWS))
	mux.HandleFunc("GET /ws/terminal/{id}", d.withRole(d.serveTerminal))
	mux.HandleFunc("POST /rpc", d.withRole(d.serveRPC))
	mux.HandleFunc("GET /events", d.withRole(d.serveEvents))
	metricsHandler := promhttp.HandlerFor(d.metrics.registry, promhttp.HandlerOpts{})
	mux.HandleFunc("GET /metrics", d.withRole(func(w http.ResponseWriter, r *http.Request, _ contract.Client) { metricsHandler.ServeHTTP(w, r) }))
	// What lies below a door is not a route of the page.
	for _, door := range []string{"/ws", "/rpc", "/events", "/metrics", "/healthz", "/readyz"} {
		mux.HandleFunc(door, wrongMethod)
		mux.HandleFunc(door+"/", http.NotFound)
	}
	mux.HandleFunc("/", d.servePage)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch fault := recover(); fault {
			case nil:
			case http.ErrAbortHandler:
				panic(fault) // The server's own way to end a connection.
			default:
				failure := d.internal("page fault", "path", r.URL.Path, "fault", fmt.Sprint(fault))
				http.Error(w, failure.Message, http.StatusInternalServerError)
			}
		}()
		d.metrics.http.Inc()
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if no := d.guard.Load().place(r); no != nil {
			http.Error(w, no.text, no.status)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func wrongMethod(w http.ResponseWriter, r *http.Request) {
	allowed := http.MethodGet
	if r.URL.Path == "/rpc" {
		allowed = http.MethodPost
	}
	w.Header().Set("Allow", allowed)
	http.Error(w, "Only "+allowed+" is served here.", http.StatusMethodNotAllowed)
}

// withRole answers 401 unless the request carries a token of either role.
func (d *doors) withRole(next func(http.ResponseWriter, *http.Request, contract.Client)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		role, _, ok := d.guard.Load().role(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "A token is needed. Open the URL that packetbench url prints, or send it as a bearer token.", http.StatusUnauthorized)
			return
		}
		next(w, r, role)
	}
}

// status is all that a stranger learns.
type status struct {
	Status  string `json:"status"`
	BootID  string `json:"boot_id"`
	Version string `json:"version"`
}

func (d *doors) health(w http.ResponseWriter, _ *http.Request) {
	d.writeJSON(w, http.StatusOK, status{"ok", d.opt.BootID, version()})
}

func (d *doors) readiness(w http.ResponseWriter, _ *http.Request) {
	if d.opt.Ready != nil && !d.opt.Ready() {
		d.writeJSON(w, http.StatusServiceUnavailable, status{"starting", d.opt.BootID, version()})
		return
	}
	d.writeJSON(w, http.StatusOK, status{"ready", d.opt.BootID, version()})
}

func (d *doors) writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := contract.Marshal(v)
	if err != nil {
		http.Error(w, "The answer could not be encoded.", http.StatusInternalServerError)
		return
	}
	writeBody(w, code, body)
}

func writeBody(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // A peer that left needs nothing more.
}

// bodyMost is how long the body of a call may take to arrive, and its answer to
// leave.
const bodyMost = 60 * time.Second

// serveRPC takes the same calls as the socket, one or a batch.
func (d *doors) serveRPC(w http.ResponseWriter, r *http.Request, role contract.Client) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		// A form or text/plain is what another site's page can send without
		// being asked (F79).
		http.Error(w, "Send the request as application/json.", http.StatusForbidden)
		return
	}
	// A body or an answer that does not move must not hold a connection.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyMost))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, d.frameMost))
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			writeBody(w, http.StatusRequestEntityTooLarge, answer([]byte("null"), nil,
				contract.Fail(contract.CodeOverLimit, "The request is larger than %d MiB.", d.frameMost>>20)))
			return
		}
		http.Error(w, "The request did not arrive whole; send it again.", http.StatusBadRequest)
		return
	}
	requests, batch := parse(body)
	var out [][]byte
	for _, p := range requests {
		result, failure := any(nil), p.fail
		if failure == nil {
			result, failure = d.dispatch(caller{client: role}, p.req.Method, p.req.Params)
		}
		if !p.silent {
			out = append(out, answer(p.req.ID, result, failure))
		}
	}
	_ = rc.SetWriteDeadline(time.Now().Add(bodyMost))
	if frame := joinAnswers(out, batch); frame != nil {
		writeBody(w, http.StatusOK, frame)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *doors) serveWS(w http.ResponseWriter, r *http.Request, role contract.Client) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered.
	}
	s := d.newSession(role, "websocket", r.RemoteAddr)
	d.host(s, func() { s.serveSocket(conn) }, func(text string) {
		_ = conn.Close(websocket.StatusTryAgainLater, text[:min(len(text), 120)]) // RFC 6455 5.5: 125 bytes with the code.
	})
	_ = conn.CloseNow()
}

// host puts a connection under an actor of its own and waits for its end.
// Either run or refuse uses the connection, never both.
func (d *doors) host(s *session, run func(), refuse func(text string)) {
	d.open.Store(s.number, s)
	d.connected.Add(1)
	defer func() {
		s.cancel(errRestart)
		s.kill()
		d.open.Delete(s.number)
		d.connected.Add(-1)
	}()
	if d.connected.Load() > viewersMost {
		refuse("Too many windows are connected. Close some of them.")
		return
	}
	if d.stopping.Load() { // Looked at after Store: who stops looks the other way round.
		s.cancel(errStopping)
	}
	reply, failure := d.call(msg.ViewersSup, msg.Ensure{
		Name: msg.ViewerName(s.number), Args: []any{connection{session: s, run: func() {
			if s.claim() {
				run()
			}
		}}},
	}, 6)
	if e, ok := reply.(msg.Ensured); failure == nil && ok {
		failure = e.Err
	}
	if failure != nil && s.claim() {
		refuse(failure.Message)
		return
	}
	select {
	case <-s.ended:
		return
	case <-s.ctx.Done():
	}
	if s.claim() { // The viewer died before it began.
		refuse("The connection could not be served; connect again.")
		return
	}
	<-s.ended
}

// serveEvents is the same stream as Server-Sent Events: id is the sequence
// number, so Last-Event-ID continues behind it (F39).
func (d *doors) serveEvents(w http.ResponseWriter, r *http.Request, role contract.Client) {
	q := r.URL.Query()
	p := contract.SubscribeParams{Subjects: q["subject"]}
	if text := q.Get("since"); text == "new" || text == "all" {
		p.Since = []byte(strconv.Quote(text))
	} else if text != "" {
		p.Since = []byte(text)
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		n, err := strconv.ParseUint(last, 10, 64)
		if err != nil {
			http.Error(w, "Last-Event-ID: want a sequence number", http.StatusBadRequest)
			return
		}
		if n < math.MaxUint64 {
			n++
		}
		p.Since = strconv.AppendUint(nil, n, 10)
	}
	if r.Method == http.MethodHead {
		return
	}
	s := d.newSession(role, "sse", r.RemoteAddr)
	defer context.AfterFunc(r.Context(), func() { s.cancel(r.Context().Err()) })()
	f, _, failure := s.subscribe(p)
	if failure != nil {
		s.cancel(nil)
		http.Error(w, failure.Message, http.StatusBadRequest)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Connection", "close") // The stream's write deadline must not reach another request.
	d.host(s, func() { s.serveStream(w, f) }, func(text string) {
		f.cursor.Close()
		http.Error(w, text, http.StatusServiceUnavailable)
	})
}

// policyHeader is the page's content security policy: nothing from elsewhere,
// no inline script. Inline style attributes are what the Markdown and list
// libraries set.
const policyHeader = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// servePage serves the built page: its files, and for every other path the
// page itself, whose routes they are.
func (d *doors) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "Only GET is served here.", http.StatusMethodNotAllowed)
		return
	}
	g := d.guard.Load()
	role, fromQuery, ok := g.role(r)
	h := w.Header()
	h.Set("Content-Security-Policy", policyHeader)
	h.Set("X-Frame-Options", "DENY")
	if !ok {
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, noTokenPage)
		return
	}
	if fromQuery {
		g.setCookie(w, role)
		u := *r.URL
		q := u.Query()
		q.Del("token")
		u.RawQuery = q.Encode()
		http.Redirect(w, r, u.RequestURI(), http.StatusFound)
		return
	}
	d.serveFile(w, r)
}

func (d *doors) serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if d.opt.Page != nil {
		if info, err := fs.Stat(d.opt.Page, name); err == nil && !info.IsDir() && name != "index.html" {
			if strings.HasPrefix(name, "assets/") {
				// Named after their content by the build.
				w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
			}
			http.ServeFileFS(w, r, d.opt.Page, name)
			return
		}
		if strings.HasPrefix(name, "assets/") {
			http.NotFound(w, r)
			return
		}
		if body, err := fs.ReadFile(d.opt.Page, "index.html"); err == nil {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(body)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, noPage)
}

// noTokenPage is what a browser without a token sees.
var noTokenPage = plainPage("PacketBench needs its token",
	"This address belongs to a running PacketBench, but the browser has no token for it. Run `packetbench url` in a terminal and open the address it prints.")

// noPage stands in for a page that was not built into this program.
var noPage = plainPage("The page is not part of this program",
	"PacketBench runs, but it was built without its page. Build it with `make build`. The command line, JSON-RPC and the event stream work as they are.")

func plainPage(title, text string) string {
	return "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>" +
		html.EscapeString(title) + "</title><body><h1>" + html.EscapeString(title) + "</h1><p>" + html.EscapeString(text) + "</p></body></html>\n"
}
