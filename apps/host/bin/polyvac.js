#!/usr/bin/env node
// A file of its own, since npm links a command only if its file is there when it installs, which is before the build.
import '../dist/cli.js'
