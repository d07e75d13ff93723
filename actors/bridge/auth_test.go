package bridge

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/contract"
)

// The Host of a request must be a loopback name or address with our port; a
// name that somebody points at us is DNS rebinding (F79).
func TestGuard_Host(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		port, host string
		want       bool
	}{
		{"7433", "127.0.0.1:7433", true},
		{"7433", "localhost:7433", true},
		{"7433", "LocalHost:7433", true},
		{"7433", "[::1]:7433", true},
		{"7433", "127.0.0.2:7433", true},
		{"7433", "127.0.0.1", false},
		{"7433", "localhost", false},
		{"7433", "[::1]", false},
		{"7433", "::1:7433", false},
		{"7433", "127.0.0.1:7434", false},
		{"7433", "127.0.0.1:80", false},
		{"7433", "127.0.0.1:", false},
		{"7433", "127.0.0.1:07433", false},
		{"7433", "", false},
		{"7433", ":7433", false},
		{"7433", "evil.test:7433", false},
		{"7433", "evil.test", false},
		{"7433", "localhost.evil.test:7433", false},
		{"7433", "127.0.0.1.nip.test:7433", false},
		{"7433", "localhost.:7433", false},
		{"7433", "0.0.0.0:7433", false},
		{"7433", "192.168.1.2:7433", false},
		{"7433", "10.0.0.1:7433", false},
		{"7433", "[::]:7433", false},
		{"7433", "[fe80::1%25lo]:7433", false},
		{"7433", "2130706433:7433", false},
		{"80", "localhost", true},
		{"80", "127.0.0.1", true},
		{"80", "[::1]", true},
		{"80", "127.0.0.1:80", true},
		{"80", "evil.test", false},
		{"80", "127.0.0.1:7433", false},
	} {
		if got := (guard{port: tc.port}).ownHost(tc.host); got != tc.want {
			t.Errorf("port %s, Host %q: %t", tc.port, tc.host, got)
		}
	}
}

// F78, F79: a foreign Host or Origin is refused at every door, with a token
// too, for an upgrade as well.
func TestDoors_Place(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	own := "http://" + r.addr
	_, port, _ := strings.Cut(r.addr, ":")
	for _, tc := range []struct {
		name   string
		header []string
		ok     bool
	}{
		{"plain", nil, true},
		{"own origin", []string{"Origin", own}, true},
		{"own name", []string{"Host", "localhost:" + port, "Origin", "http://localhost:" + port}, true},
		{"rebinding", []string{"Host", "evil.test:" + port}, false},
		{"rebinding with its origin", []string{"Host", "evil.test:" + port, "Origin", "http://evil.test:" + port}, false},
		{"no port", []string{"Host", "127.0.0.1"}, false},
		{"foreign origin", []string{"Origin", "https://evil.test"}, false},
		{"null origin", []string{"Origin", "null"}, false},
		{"other port", []string{"Origin", "http://127.0.0.1:1"}, false},
		{"other loopback name", []string{"Origin", "http://localhost:" + port}, false},
		{"other scheme", []string{"Origin", "https://" + r.addr}, false},
		{"prefix", []string{"Origin", own + ".evil.test"}, false},
		{"user", []string{"Origin", "http://" + r.addr + "@evil.test"}, false},
		{"not a URL", []string{"Origin", "%"}, false},
	} {
		for _, at := range []struct{ method, path string }{
			{"GET", "/"}, {"GET", "/healthz"}, {"GET", "/readyz"}, {"GET", "/metrics"}, {"POST", "/rpc"}, {"HEAD", "/events"}, {"OPTIONS", "/rpc"},
		} {
			status, _, _ := r.do(at.method, at.path, `{"jsonrpc":"2.0","id":1,"method":"get_session"}`, tc.header...)
			if (status == http.StatusForbidden) == tc.ok {
				t.Errorf("%s: %s %s: %d", tc.name, at.method, at.path, status)
			}
		}
		q, _ := http.NewRequest("GET", own+"/ws", nil)
		q.Header = http.Header{"Authorization": {"Bearer " + ownerToken}}
		o := &websocket.DialOptions{HTTPHeader: q.Header}
		for i := 0; i+1 < len(tc.header); i += 2 {
			if tc.header[i] == "Host" {
				o.Host = tc.header[i+1]
			} else {
				o.HTTPHeader.Set(tc.header[i], tc.header[i+1])
			}
		}
		conn, answer, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/ws", o)
		if (err == nil) != tc.ok || err != nil && answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: upgrade: %v", tc.name, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
}

// Every way to show a token, at every door that needs one.
func TestDoors_Token(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, port, _ := strings.Cut(r.addr, ":")
	owner, monitor := "packetbench_token_owner_"+port, "packetbench_token_monitor_"+port
	for _, tc := range []struct {
		name, query, bearer, cookie string
		want                        contract.Client // Empty: 401.
	}{
		{name: "nothing"},
		{name: "bearer owner", bearer: "Bearer " + ownerToken, want: "owner"},
		{name: "bearer in any case", bearer: "bearer  " + ownerToken, want: "owner"},
		{name: "bearer monitor", bearer: "Bearer " + monitorToken, want: "monitor"},
		{name: "bearer wrong", bearer: "Bearer nope"},
		{name: "bearer empty", bearer: "Bearer "},
		{name: "bearer prefix", bearer: "Bearer " + ownerToken[:5]},
		{name: "basic", bearer: "Basic " + ownerToken},
		{name: "bare", bearer: ownerToken},
		{name: "wrong bearer, right cookie", bearer: "Bearer nope", cookie: owner + "=" + ownerToken},
		{name: "query owner", query: "token=" + ownerToken, want: "owner"},
		{name: "query monitor", query: "token=" + monitorToken, want: "monitor"},
		{name: "query wrong", query: "token=nope"},
		{name: "wrong query, right cookie", query: "token=nope", cookie: owner + "=" + ownerToken},
		{name: "cookie owner", cookie: owner + "=" + ownerToken, want: "owner"},
		{name: "cookie monitor", cookie: monitor + "=" + monitorToken, want: "monitor"},
		{name: "both cookies", cookie: monitor + "=" + monitorToken + "; " + owner + "=" + ownerToken, want: "owner"},
		{name: "both cookies as monitor", query: "role=monitor", cookie: monitor + "=" + monitorToken + "; " + owner + "=" + ownerToken, want: "monitor"},
		{name: "owner as monitor", query: "role=monitor", cookie: owner + "=" + ownerToken, want: "monitor"},
		{name: "bearer owner as monitor", query: "role=monitor", bearer: "Bearer " + ownerToken, want: "monitor"},
		{name: "query owner as monitor", query: "role=monitor&token=" + ownerToken, want: "monitor"},
		{name: "monitor as owner", query: "role=owner", cookie: monitor + "=" + monitorToken, want: "monitor"},
		{name: "cookie of another port", cookie: "packetbench_token_owner_1=" + ownerToken},
		{name: "wrong cookie before the right one", cookie: owner + "=nope; " + owner + "=" + ownerToken, want: "owner"},
		{name: "wrong owner's cookie, monitor's", cookie: owner + "=nope; " + monitor + "=" + monitorToken, want: "monitor"},
		{name: "cookie without port", cookie: "packetbench_token=" + ownerToken},
	} {
		header := []string{"Authorization", tc.bearer, "Cookie", tc.cookie}
		query := "?" + tc.query
		// /rpc tells the role.
		status, _, body := r.do("POST", "/rpc"+query, `{"jsonrpc":"2.0","id":1,"method":"get_session"}`, header...)
		if tc.want == "" {
			if status != http.StatusUnauthorized {
				t.Errorf("%s: /rpc: %d", tc.name, status)
			}
		} else if status != http.StatusOK || !strings.Contains(body, `"role":"`+string(tc.want)+`"`) {
			t.Errorf("%s: /rpc: %d %s", tc.name, status, body)
		}
		want := http.StatusOK
		if tc.want == "" {
			want = http.StatusUnauthorized
		}
		for _, at := range []struct{ method, path string }{{"GET", "/metrics"}, {"HEAD", "/events"}} {
			if status, _, _ := r.do(at.method, at.path+query, "", header...); status != want {
				t.Errorf("%s: %s: %d, want %d", tc.name, at.path, status, want)
			}
		}
		// An upgrade, as a browser and as a script does it.
		h := http.Header{}
		if tc.bearer != "" {
			h.Set("Authorization", tc.bearer)
		}
		if tc.cookie != "" {
			h.Set("Cookie", tc.cookie)
		}
		conn, answer, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/ws"+query, &websocket.DialOptions{HTTPHeader: h})
		if (err == nil) != (tc.want != "") || err != nil && answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: /ws: %v", tc.name, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
		// A page hands a token in the query over to a cookie.
		status, got, _ := r.do("GET", "/monitor"+query, "", header...)
		if strings.HasPrefix(tc.query, "token=") && tc.want != "" {
			want = http.StatusFound
		}
		if strings.Contains(tc.query, "&token=") {
			want = http.StatusFound
		}
		if status != want {
			t.Errorf("%s: page: %d, want %d", tc.name, status, want)
		}
		if (got.Get("Set-Cookie") != "") != (want == http.StatusFound) {
			t.Errorf("%s: page: cookie %q", tc.name, got.Get("Set-Cookie"))
		}
	}
}

// A token in a page's address goes into a cookie of its role and port, and out
// of the address.
func TestDoors_Cookie(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, port, _ := strings.Cut(r.addr, ":")
	for _, tc := range []struct{ path, token, role, location string }{
		{"/?token=" + ownerToken, ownerToken, "owner", "/"},
		{"/c/c1?x=1&token=" + ownerToken + "&y=2", ownerToken, "owner", "/c/c1?x=1&y=2"},
		{"/monitor/c1?token=" + monitorToken, monitorToken, "monitor", "/monitor/c1"},
		{"/monitor/c1?role=monitor&token=" + ownerToken, monitorToken, "monitor", "/monitor/c1?role=monitor"},
	} {
		status, h, body := r.do("GET", tc.path, "", "Authorization", "")
		if status != http.StatusFound || h.Get("Location") != tc.location || strings.Contains(body, tc.token) {
			t.Errorf("%s: %d to %q", tc.path, status, h.Get("Location"))
		}
		set, err := http.ParseSetCookie(h.Get("Set-Cookie"))
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		if set.Name != "packetbench_token_"+tc.role+"_"+port || set.Value != tc.token || !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != "/" || set.Domain != "" {
			t.Errorf("%s: %+v", tc.path, set)
		}
		if status, _, _ := r.do("GET", tc.location, "", "Authorization", "", "Cookie", set.Name+"="+set.Value); status != http.StatusOK {
			t.Errorf("%s: with the cookie: %d", tc.path, status)
		}
		if h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", tc.path, h)
		}
	}
}

// A page that was let in goes on after a restart, which makes new tokens; a
// monitor does not, and the key of pages is no token.
func TestGuard_PageKey(t *testing.T) {
	t.Parallel()
	first := guard{owner: "o1", monitor: "m1", page: "key", port: "1"}
	second := guard{owner: "o2", monitor: "m2", page: "key", port: "1"}
	cookies := func(c contract.Client) string {
		w := httptest.NewRecorder()
		first.setCookie(w, c)
		return strings.Split(w.Header().Get("Set-Cookie"), ";")[0]
	}
	ask := func(g guard, header, value string) contract.Client {
		q := httptest.NewRequest("GET", "/", nil)
		q.Header.Set(header, value)
		c, _, _ := g.role(q)
		return c
	}
	owner, monitor := cookies(contract.ClientOwner), cookies(contract.ClientMonitor)
	if strings.Contains(owner, "o1") {
		t.Errorf("the cookie holds the token: %q", owner)
	}
	for _, tc := range []struct {
		name, header, value string
		g                   guard
		want                contract.Client
	}{
		{"owner", "Cookie", owner, first, contract.ClientOwner},
		{"owner after a restart", "Cookie", owner, second, contract.ClientOwner},
		{"monitor", "Cookie", monitor, first, contract.ClientMonitor},
		{"monitor after a restart", "Cookie", monitor, second, ""},
		{"the key as a bearer", "Authorization", "Bearer key", second, ""},
		{"the key as a monitor's cookie", "Cookie", "packetbench_token_monitor_1=key", second, ""},
		{"no key, empty cookie", "Cookie", "packetbench_token_owner_1=", guard{owner: "o", monitor: "m", port: "1"}, ""},
	} {
		if got := ask(tc.g, tc.header, tc.value); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// An address that begins with two slashes would be another site.
func TestDoors_RedirectStaysHere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"//evil.test/?token=" + ownerToken, "/%2fevil.test/?token=" + ownerToken, "/\\evil.test/?token=" + ownerToken, "/..//evil.test?token=" + ownerToken} {
		q := &http.Request{Method: "GET", Host: r.addr, URL: &url.URL{Scheme: "http", Host: r.addr, Opaque: "//" + r.addr + path}, Header: http.Header{}}
		answer, err := r.http.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		to := answer.Header.Get("Location")
		u, err := url.Parse(to)
		if err != nil || u.Host != "" && u.Host != r.addr || strings.HasPrefix(to, "//") && !strings.HasPrefix(to, "//"+r.addr+"/") || strings.HasPrefix(to, "/\\") {
			t.Errorf("%s goes to %q", path, to)
		}
	}
}
