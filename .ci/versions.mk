# Every tool that is not a dependency of the product, pinned once.
# They run through `go run module@version`, so they touch neither go.mod nor the machine.
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
GCI         := github.com/daixiang0/gci@v0.14.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Debian packages of the rings that need more than Go and Node: the browser, a real keyring, a shell linter.
DEBIAN      := chromium gnome-keyring dbus dbus-bin libsecret-tools shellcheck strace
