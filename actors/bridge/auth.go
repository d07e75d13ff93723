package bridge

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// guard decides who a request comes from. It is pure but for its fields.
type guard struct {
	owner, monitor string
	// page is what the owner's cookie holds; empty: the owner token.
	page string
	port string
}

// cookie is the name that holds the token of one role. Browsers share cookies
// between the ports of a host, so the port is part of it; a monitor window must
// not replace its owner's, so the role is.
func (g guard) cookie(c contract.Client) string {
	return config.CookieName + "_" + string(c) + "_" + g.port
}

// refusal is an answer before any handler: status and a sentence.
type refusal struct {
	status int
	text   string
}

// place refuses a request that was not meant for us: a foreign Host is DNS
// rebinding, a foreign Origin is another site's page (F78, F79).
func (g guard) place(r *http.Request) *refusal {
	if !g.ownHost(r.Host) {
		return &refusal{http.StatusForbidden, "This address is not served. Use the URL that packetbench url prints."}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" || !strings.EqualFold(u.Host, r.Host) {
			return &refusal{http.StatusForbidden, "Requests from another page are not served."}
		}
	}
	return nil
}

// ownHost reports whether host is a loopback name or address with our port.
func (g guard) ownHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil && g.port == "80" { // Browsers leave it out.
		name, port, err = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "80", nil
	}
	if err != nil || port != g.port {
		return false
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// role finds the role of a request: bearer token, token in the query, or
// cookie, in this order; the first that is there decides. With role=monitor a
// caller asks for less than its right, which is always granted. The cookie of
// the monitor counts when the page asks for that role or is the monitor's, or
// when there is no owner's.
func (g guard) role(r *http.Request) (c contract.Client, fromQuery, ok bool) {
	query := r.URL.Query()
	lesser := query.Get("role") == string(contract.ClientMonitor)
	c, fromQuery, ok = g.credential(r, query.Get("token"), lesser || strings.HasPrefix(r.URL.Path, "/monitor"))
	if ok && lesser {
		c = contract.ClientMonitor
	}
	return c, fromQuery, ok
}

func (g guard) credential(r *http.Request, token string, monitorFirst bool) (c contract.Client, fromQuery, ok bool) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, bearer, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", false, false
		}
		c, ok = g.token(strings.TrimSpace(bearer))
		return c, false, ok
	}
	if token != "" {
		c, ok = g.token(token)
		return c, true, ok
	}
	order := []contract.Client{contract.ClientOwner, contract.ClientMonitor}
	if monitorFirst {
		order = []contract.Client{contract.ClientMonitor, contract.ClientOwner}
	}
	for _, want := range order {
		// A page on another port of this host can leave cookies of any name,
		// so one that is wrong does not hide one that is right.
		for _, cookie := range r.CookiesNamed(g.cookie(want)) {
			if want == contract.ClientOwner && g.isPage(cookie.Value) {
				return want, false, true
			}
			if c, ok := g.token(cookie.Value); ok {
				return c, false, true
			}
		}
	}
	return "", false, false
}

// token compares in constant time, both tokens always.
func (g guard) token(given string) (contract.Client, bool) {
	sum := sha256.Sum256([]byte(given))
	owner, monitor := sha256.Sum256([]byte(g.owner)), sha256.Sum256([]byte(g.monitor))
	isOwner := subtle.ConstantTimeCompare(sum[:], owner[:]) == 1
	isMonitor := subtle.ConstantTimeCompare(sum[:], monitor[:]) == 1
	switch {
	case given == "":
		return "", false
	case isOwner:
		return contract.ClientOwner, true
	case isMonitor:
		return contract.ClientMonitor, true
	}
	return "", false
}

// isPage reports whether a cookie is that of an owner's page. It outlives the
// service, so a page that was open goes on when the service is back.
func (g guard) isPage(given string) bool {
	sum, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.page))
	return g.page != "" && subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}

// setCookie lets a page in: an owner's by the key of pages, a monitor's by its
// token, which ends with this start of the service.
func (g guard) setCookie(w http.ResponseWriter, c contract.Client) {
	value := g.owner
	if g.page != "" {
		value = g.page
	}
	if c == contract.ClientMonitor {
		value = g.monitor
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie(c), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
