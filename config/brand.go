package config

// The product's names, in one place. The prior ones are read once, to take a
// data directory or a key over. Source: mcp-state.md 14.
const (
	AppName         = "PacketBench"
	Program         = "packetbench"
	DataDirName     = ".packetbench"
	PriorDataDir    = ".packetade"
	KeyringService  = "packetbench"
	PriorKeyring    = "packetade"
	TempPrefix      = "packetbench-"
	EnvPrefix       = "PACKETBENCH_"
	EnvHome         = "PACKETBENCH_HOME"
	EnvBootID       = "PACKETBENCH_BOOT_ID"
	URIScheme       = "packetbench"
	ProjectURL      = "https://github.com/packetbench/packetbench"
	FetchUserAgent  = AppName + "/1.0 (+desktop coding agent)"
	CookieName      = "packetbench_token"
	ProjectDir      = ".packetbench"
	WorktreesDir    = ".pkt-worktrees"
	DemoFile        = "packetbench-demo.md"
	ReadyLinePrefix = "PacketBench ready: "
)

// Version and Commit are set by the linker.
var (
	Version = "0.1.0-dev"
	Commit  = "unknown"
)

// UserAgent is what our HTTP clients call themselves.
func UserAgent() string { return AppName + "/" + Version }
