// Package config holds plain values: the product's names, the files of a data
// directory, the limits, the start options and the model and price tables.
//
// It reads flags and environment through parameters only, opens nothing but
// what it embeds, and imports the standard library only.
package config
