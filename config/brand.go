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
	ProjectURL      = "https://github.com/packetbench/packetbench"
	FetchUserAgent  = AppName + "/1.0 (+desktop coding agent)"
	CookieName      = "packetbench_token"
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

// KeyVariables are the environment variables from which a provider's key may
// come, by keyring account. What a model runs does not get them: its output
// goes into transcript, log and the model's own context.
var KeyVariables = map[string]string{
	"api-key-anthropic":  "ANTHROPIC_API_KEY",
	"api-key-openai":     "OPENAI_API_KEY",
	"api-key-openrouter": "OPENROUTER_API_KEY",
	"api-key-minimax":    "MINIMAX_API_KEY",
}

// HoldsKey reports whether an environment variable is one of KeyVariables.
func HoldsKey(name string) bool {
	for _, v := range KeyVariables {
		if v == name {
			return true
		}
	}
	return false
}
