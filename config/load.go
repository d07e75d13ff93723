package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Serve is everything `packetbench serve` is started with: flags before
// environment before defaults.
type Serve struct {
	Paths          Paths
	Addr, NATSAddr string
	NoNATSListen   bool
	Open           bool
	LogLevel       string
	LogFormat      string
	LogMaxBytes    int64
	LogMaxAge      time.Duration
	Idle           time.Duration
	MaxAwake       int
	// StartedIn is the folder the service was started in, the default project.
	StartedIn string
}

// LogLevels are the levels of the text log, least first.
var LogLevels = []string{"debug", "info", "warn", "error"}

// Default addresses. Source: interface.md 2.
const (
	DefaultAddr     = "127.0.0.1:7433"
	DefaultNATSAddr = "127.0.0.1:7434"
)

// EnvNames are the environment variables that PacketBench reads itself; the
// boot check warns about others with its prefix.
var EnvNames = []string{
	EnvHome, EnvBootID, "PACKETBENCH_OLLAMA_URL", "PACKETBENCH_MINIMAX_URL", "PACKETBENCH_CUSTOM_COMPAT_URL",
	"PACKETBENCH_ANTHROPIC_URL", "PACKETBENCH_OPENAI_URL", "PACKETBENCH_OPENROUTER_URL",
	"PACKETBENCH_OLLAMA_NUM_CTX_CAP", "PACKETBENCH_OLLAMA_KEEP_ALIVE",
	"PACKETBENCH_SIDECAR_PATH", "PACKETBENCH_NODE_PATH", "PACKETBENCH_DEV_SIDECAR", "PACKETBENCH_ACP_ENGINE",
	// Read by the sidecar, to which the host hands them on.
	"PACKETBENCH_SIDECAR_LIVE", "PACKETBENCH_SIDECAR_IDLE_MS", "PACKETBENCH_SIDECAR_STALL_MS", "PACKETBENCH_MCP_PROBE_TIMEOUT_MS",
	"PACKETBENCH_LOG_MAX_BYTES", "PACKETBENCH_LOG_MAX_AGE", "PACKETBENCH_CONVERSATION_IDLE", "PACKETBENCH_MAX_AWAKE",
	"PACKETBENCH_NO_KEYRING",
}

// UnknownEnv returns the variables of environ (NAME=value) that carry our
// prefix and mean nothing to us: likely a misspelling.
func UnknownEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, EnvPrefix) && !slices.Contains(EnvNames, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Check completes s with the environment's values and defaults and refuses
// what cannot work. Its errors name the flag or variable.
func (s Serve) Check(getenv func(string) string) (Serve, error) {
	if s.Addr == "" {
		s.Addr = DefaultAddr
	}
	if s.NATSAddr == "" {
		s.NATSAddr = DefaultNATSAddr
	}
	for flag, addr := range map[string]string{"--addr": s.Addr, "--nats-addr": s.NATSAddr} {
		if err := loopback(addr); err != nil {
			return s, fmt.Errorf("%s %q: %w", flag, addr, err)
		}
	}
	s.LogMaxBytes = LogMaxBytes
	if v := getenv("PACKETBENCH_LOG_MAX_BYTES"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1<<20 {
			return s, fmt.Errorf("PACKETBENCH_LOG_MAX_BYTES %q: want a number of bytes, at least 1048576", v)
		}
		s.LogMaxBytes = n
	}
	durations := []struct {
		name string
		def  time.Duration
		into *time.Duration
	}{{"PACKETBENCH_LOG_MAX_AGE", LogMaxAge, &s.LogMaxAge}, {"PACKETBENCH_CONVERSATION_IDLE", ConversationIdle, &s.Idle}}
	for _, d := range durations {
		*d.into = d.def
		if v := getenv(d.name); v != "" {
			parsed, err := time.ParseDuration(v)
			if err != nil || parsed < 0 {
				return s, fmt.Errorf("%s %q: want a duration such as 10m or 168h", d.name, v)
			}
			*d.into = parsed
		}
	}
	s.MaxAwake = MaxAwake
	if v := getenv("PACKETBENCH_MAX_AWAKE"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > MaxAwakeHard {
			return s, fmt.Errorf("PACKETBENCH_MAX_AWAKE %q: want 1 to %d", v, MaxAwakeHard)
		}
		s.MaxAwake = n
	}
	return s, nil
}

// loopback refuses an address that another machine could reach: the service
// is desktop-local.
func loopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("want host:port: %w", err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q is not 0 to 65535", port)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("only a loopback address is served; for another machine use an SSH tunnel")
	}
	return nil
}
