package tool

import (
	"fmt"
	"net/netip"
)

// BlockedError says that web_fetch would have reached an address that is not
// public.
type BlockedError struct{ Host string }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("'%s' leads to a private or reserved address, which web_fetch does not reach; use bash if the user wants that", e.Host)
}

// blocked4 and blocked6 are the ranges that web_fetch does not reach. Source:
// tools-permissions.md section 3. The last two of blocked6 are ours: the old
// site-local range (RFC 3879) and the NAT64 range for local use (RFC 8215).
var (
	blocked4 = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
		"172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4")
	blocked6 = prefixes("::/128", "::1/128", "ff00::/8", "fc00::/7", "fe80::/10", "fec0::/10", "64:ff9b:1::/48")
)

// embedding are the IPv6 ranges that carry an IPv4 address, with the offset of
// its first byte: mapped, compatible, NAT64, 6to4.
var embedding = []struct {
	in netip.Prefix
	at int
}{
	{netip.MustParsePrefix("::ffff:0:0/96"), 12},
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// teredo carries the IPv4 address of a client inverted (RFC 4380 section 4).
var teredo = netip.MustParsePrefix("2001::/32")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// blocked reports whether an address is in a blocked range, by itself or by an
// IPv4 address inside it.
func blocked(a netip.Addr) bool {
	a = a.WithZone("")
	if !a.IsValid() {
		return true
	}
	if a.Is4() {
		return within(a, blocked4)
	}
	if within(a, blocked6) {
		return true
	}
	b := a.As16()
	for _, e := range embedding {
		// Compared by bytes: Prefix.Contains never matches a mapped address.
		if sharesPrefix(b, e.in) && within(netip.AddrFrom4([4]byte(b[e.at:e.at+4])), blocked4) {
			return true
		}
	}
	if teredo.Contains(a) {
		return within(netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), blocked4)
	}
	return false
}

func within(a netip.Addr, in []netip.Prefix) bool {
	for _, p := range in {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// sharesPrefix compares whole bytes; every length in embedding is a multiple of 8.
func sharesPrefix(b [16]byte, p netip.Prefix) bool {
	want := p.Addr().As16()
	n := p.Bits() / 8
	return [16]byte(append(append([]byte{}, b[:n]...), make([]byte, 16-n)...)) ==
		[16]byte(append(append([]byte{}, want[:n]...), make([]byte, 16-n)...))
}
