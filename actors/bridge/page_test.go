package bridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func TestPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const index, asset, icon = "<!doctype html><title>the page</title>", "export {}", "<svg/>"
	for _, tc := range []struct {
		path   string
		status int
		body   string // Empty: not looked at.
		kind   string
	}{
		{"/", 200, index, "text/html; charset=utf-8"},
		{"/index.html", 200, index, "text/html; charset=utf-8"},
		{"/c/c1", 200, index, "text/html; charset=utf-8"},
		{"/monitor", 200, index, "text/html; charset=utf-8"},
		{"/monitor/c1?role=monitor", 200, index, "text/html; charset=utf-8"},
		{"/settings/", 200, index, "text/html; charset=utf-8"},
		{"/assets", 200, index, "text/html; charset=utf-8"},
		{"/favicon.svg", 200, icon, "image/svg+xml"},
		{"/assets/app-1a2b.js", 200, asset, "text/javascript; charset=utf-8"},
		{"/assets/old-9999.js", 404, "", ""}, // Not the page: a browser would run it.
		{"/ws/x", 404, "", ""},
		{"/rpc/x", 404, "", ""},
		{"/events/", 404, "", ""},
		{"/metrics/x", 404, "", ""},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			status, h, body := r.do(method, tc.path, "")
			if status != tc.status || method == "GET" && tc.body != "" && body != tc.body || method == "HEAD" && body != "" {
				t.Errorf("%s %s: %d %q", method, tc.path, status, body)
			}
			if tc.kind != "" && h.Get("Content-Type") != tc.kind {
				t.Errorf("%s %s: %s", method, tc.path, h.Get("Content-Type"))
			}
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s %s: %v", method, tc.path, h)
			}
			if tc.status == 200 && (h.Get("Content-Security-Policy") != policyHeader || h.Get("X-Frame-Options") != "DENY") {
				t.Errorf("%s %s: %v", method, tc.path, h)
			}
			want := "no-store"
			if tc.path == "/assets/app-1a2b.js" {
				want = "private, max-age=31536000, immutable"
			}
			if tc.status == 200 && h.Get("Cache-Control") != want {
				t.Errorf("%s %s: %s", method, tc.path, h.Get("Cache-Control"))
			}
		}
	}
	for _, source := range []string{"'unsafe-eval'", "*", "http:", "https:"} {
		if strings.Contains(policyHeader, source) {
			t.Errorf("the policy allows %s", source)
		}
	}
	if strings.Contains(strings.Split(policyHeader, "style-src")[0], "unsafe-inline") {
		t.Error("the policy allows inline scripts")
	}
}

func TestPage_Methods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct {
		method, path string
		want         int
		allow        string
	}{
		{"POST", "/", 405, ""},
		{"PUT", "/c/c1", 405, ""},
		{"DELETE", "/assets/app-1a2b.js", 405, ""},
		{"GET", "/rpc", 405, "POST"},
		{"PUT", "/rpc", 405, "POST"},
		{"OPTIONS", "/rpc", 405, "POST"},
		{"POST", "/ws", 405, "GET"},
		{"POST", "/events", 405, "GET"},
		{"POST", "/metrics", 405, "GET"},
		{"POST", "/healthz", 405, "GET"},
		{"GET", "/ws", 426, ""},
	} {
		status, h, _ := r.do(tc.method, tc.path, "")
		if status != tc.want || tc.allow != "" && h.Get("Allow") != tc.allow {
			t.Errorf("%s %s: %d %v", tc.method, tc.path, status, h)
		}
	}
}

// Without a token there is nothing of the page, only what to do.
func TestPage_NoToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/", "/c/c1", "/index.html", "/assets/app-1a2b.js", "/favicon.svg", "/?token=wrong"} {
		status, h, body := r.do("GET", path, "", "Authorization", "")
		if status != http.StatusUnauthorized || !strings.Contains(body, "packetbench url") || strings.Contains(body, "the page<") || strings.Contains(body, "export") ||
			h.Get("Content-Security-Policy") == "" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v %s", path, status, h, body)
		}
	}
}

// A program without its page says so.
func TestPage_NotBuilt(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Page = nil })
	if status, _, body := r.do("GET", "/c/c1", ""); status != http.StatusOK || !strings.Contains(body, "make build") {
		t.Errorf("%d %s", status, body)
	}
}

// No way leads out of the page's files.
func TestPage_Traversal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{
		"/../page.go", "/assets/../../etc/passwd", "/assets/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/assets/..%5c..%5cx", "/assets/%00", "/assets//../../x",
		"/%2e%2e/index.html", "/....//x", "/assets/.", "/C:/x", "/assets/app-1a2b.js/..", "/assets/app-1a2b.js%00.html",
	} {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		// By hand: a client would clean the path.
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, r.addr, ownerToken); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = conn.Close()
		switch answer.StatusCode {
		case http.StatusOK:
			if !strings.Contains(string(body), "the page") {
				t.Errorf("%s: %s", path, body)
			}
		case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to+"/", "/../") {
				t.Errorf("%s: to %q", path, to)
			}
		case http.StatusNotFound, http.StatusBadRequest:
		default:
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}

// What a stranger learns: that it runs, and nothing else.
func TestHealth(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	r := newRig(t, func(o *Options) { o.Ready = ready.Load })
	check := func(path string, wantStatus int, want string) {
		t.Helper()
		status, _, body := r.do("GET", path, "", "Authorization", "")
		var got map[string]string
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != wantStatus || len(got) != 3 || got["status"] != want || got["boot_id"] != bootID || got["version"] != version() {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz", 503, "starting")
	ready.Store(true)
	check("/readyz", 200, "ready")
	check("/healthz", 200, "ok")
}

// A fault in a handler is a sentence, a line in the log, and no dead connection.
func TestHTTP_Panic(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Ready = func() bool { panic("of a test") } })
	status, _, body := r.do("GET", "/readyz?token="+ownerToken, "")
	if status != http.StatusInternalServerError || !strings.Contains(body, "reference") || !strings.Contains(r.logs.String(), "level=ERROR") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := r.do("GET", "/healthz", ""); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}
