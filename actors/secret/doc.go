// Package secret keeps credentials: API keys of providers and a few tokens.
//
// [Keys] is the whole of it and knows nothing of actors, so that the commands
// of the program use the same code; the actor made by [New] is a shell that
// answers the messages of actors/msg/secret.go from it.
//
// Where a key is looked for, in this order:
//  1. the OS keyring, service "packetbench";
//  2. the OS keyring, service of the product's prior name: what is found there
//     is written under the new name and only then removed under the old one;
//  3. the encrypted file keys.age in the data directory, opened by the identity
//     in keys.identity (0600): for machines without a usable keyring;
//  4. the environment variable of the provider, which is never written anywhere.
//
// A key is stored in the keyring, and in the file when there is no usable
// keyring. Any failure of the keyring but "not found" makes it unusable for a
// minute, with its reason; it never looks like an absent key. One that does not
// answer, because it waits for a person to unlock it, costs a caller 4 s once.
//
// What it promises: a key leaves this package only as the Key of a FoundKey, to
// the one who calls the provider. It is in no error, log, listing or inspection;
// a listing shows the last four characters of a key of at least twelve. Every
// request is answered within 5 s and holds up no other actor.
//
// Source: mcp-state.md 14, real-parts.md 1.
package secret
