package tool

import (
	"net/netip"
	"testing"
)

// Both ends of every range of tools-permissions.md section 3, and what lies next
// to them.
func TestBlocked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		blocked bool
		addrs   []string
	}{
		{true, []string{
			"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255",
			"169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
			"198.18.0.0", "198.19.255.255", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255",
			"::", "::1", "ff02::1", "ffff::", "fc00::", "fdff::1", "fe80::1", "febf::1", "fe80::1%eth0", "fec0::1", "64:ff9b:1::1",
			"::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
			"64:ff9b::127.0.0.1", "64:ff9b::c0a8:1", "2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::",
			"2001:0:1:2:3:4:80ff:fffe", // Teredo of 127.0.0.1
		}},
		{false, []string{
			"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
			"172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "8.8.8.8",
			"2606:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::", "2001:db8::1", "2001:4860::8888", "fbff::1",
		}},
	} {
		for _, s := range tc.addrs {
			t.Run(s, func(t *testing.T) {
				t.Parallel()
				if got := blocked(netip.MustParseAddr(s)); got != tc.blocked {
					t.Fatalf("blocked = %v", got)
				}
			})
		}
	}
	if !blocked(netip.Addr{}) {
		t.Error("no address at all is not blocked")
	}
}

// An IPv4 address is judged alike in every form that can carry it.
func FuzzBlocked(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{8, 8, 8, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		v4 := [4]byte(b[:4])
		want := blocked(netip.AddrFrom4(v4))
		for name, head := range map[string][]byte{
			"mapped": {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
			"nat64":  {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0},
		} {
			if got := blocked(netip.AddrFrom16([16]byte(append(head, v4[:]...)))); got != want {
				t.Fatalf("%s %v: %v, plain %v", name, v4, got, want)
			}
		}
		six := [16]byte{0x20, 0x02, v4[0], v4[1], v4[2], v4[3]}
		if got := blocked(netip.AddrFrom16(six)); got != want {
			t.Fatalf("6to4 %v: %v, plain %v", v4, got, want)
		}
	})
}
