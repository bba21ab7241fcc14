#!/usr/bin/env node
// A separate file: npm links a command only if its file exists during the install, which is before the build.
import '../dist/cli.js'
