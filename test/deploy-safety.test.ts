import { parseConfig } from '@polyvac/host'
import { validate, ValidationSeverity } from 'dockerfile-utils'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { runPolyvac } from './fixtures/command.js'
import { freePort, readersEnvironment } from './fixtures/service.js'
import { until } from './fixtures/until.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const TOKEN = 'a-token-of-the-tests'
const HASH = createHash('sha256').update(TOKEN).digest('hex')
const SKIPPED = new Set(['node_modules', 'dist', '.git', '.tests', '.tap', '.polyvac'])
const SECRET = /PASS|TOKEN|SECRET|KEY|CREDENTIAL/i

/** Every file of the repository that builds or starts a container: a new one is found by its name or its contents. */
function * filesBelow (folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield * filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

interface Container { readonly file: string, readonly name: string, readonly command: readonly string[], readonly env: Readonly<Record<string, string>>, readonly config: string | undefined }

const all = [...filesBelow(root)]
const read = (file: string): string => readFileSync(file, 'utf8')
const short = (file: string): string => file.slice(root.length)
const documents = (file: string): any[] => parseAllDocuments(read(file)).map(document => document.toJS()).filter(value => typeof value === 'object' && value !== null)
const yamls = all.filter(file => /\.ya?ml$/.test(file))
const composes = yamls.filter(file => documents(file).some(({ services }) => typeof services === 'object' && Object.values<any>(services ?? {}).some(one => one?.image !== undefined || one?.build !== undefined)))
const manifests = yamls.filter(file => documents(file).some(({ apiVersion, kind }) => apiVersion !== undefined && /^(?:Deployment|StatefulSet|DaemonSet|Job|CronJob|Pod|Service|Secret)$/.test(String(kind))))
const dockerfiles = [
  ...all.filter(file => /^(?:.*\.)?(?:Dockerfile|Containerfile)(?:\..*)?$/i.test(basename(file))).map(file => ({ file, text: read(file), isWhole: true })),
  ...composes.flatMap(file => Object.values<any>(documents(file)[0].services).flatMap(({ build }) => typeof build?.dockerfile_inline === 'string' ? [{ file, text: build.dockerfile_inline as string, isWhole: false }] : []))
]
/** Pods of a manifest, wherever its kind has them. */
const podsOf = (file: string): any[] => documents(file).flatMap(({ spec }) => [spec, spec?.template?.spec, spec?.jobTemplate?.spec?.template?.spec].filter(one => Array.isArray(one?.containers)))
const isOurs = ({ command, build, image }: any): boolean => command?.[0] === 'polyvac' || build !== undefined || /\bpolyvac\b/.test(String(image))

test('the files are found: two Dockerfiles, two of Compose, two manifests', t => {
  t.strictSame(dockerfiles.filter(({ isWhole }) => isWhole).map(({ file }) => short(file)).sort(), ['apps/polyvac/templates/default/Dockerfile', 'examples/deploy/Dockerfile'])
  t.ok(composes.map(short).includes('examples/deploy/compose.yaml') && composes.map(short).includes('examples/telemetry/compose.yaml'))
  t.ok(manifests.map(short).includes('examples/deploy/kubernetes.yaml') && manifests.map(short).includes('examples/deploy/cloud-run.yaml'))
  t.end()
})

for (const { file, text, isWhole } of dockerfiles) {
  test(`${short(file)} builds an image without secrets, in layers, for a user with a number`, t => {
    t.notMatch(text, /allow-unauthenticated/)
    t.strictSame(validate(text, { deprecatedMaintainer: ValidationSeverity.ERROR, instructionCasing: ValidationSeverity.ERROR }).map(({ message, range }) => `${range.start.line + 1}: ${message}`), [], 'dockerfile-utils finds nothing')
    const lines = text.replaceAll('\\\n', ' ').split('\n').map(line => line.trim()).filter(line => line !== '' && !line.startsWith('#'))
    t.match(lines.findLast(line => /^USER /i.test(line)), /^USER [1-9]\d*:[1-9]\d*$/, 'the last USER is a number, and not 0')
    for (const line of lines.filter(line => /^(?:ENV|ARG) /i.test(line))) t.notMatch(line, new RegExp(`^(?:ENV|ARG)\\s+.*(?:${SECRET.source})\\w*[= ]`, 'i'))
    t.notOk(lines.some(line => /^(?:COPY|ADD) .*\.env\b/.test(line)))
    for (const line of lines.filter(line => /--chown|chown/.test(line))) t.notMatch(line, /chown(?:=| )(?!-)[a-z]/, 'owners are numbers')
    if (!isWhole) return t.end()
    const install = lines.findIndex(line => /npm (?:ci|install)/.test(line))
    const sources = lines.findIndex(line => /^COPY \. /.test(line))
    t.ok(install !== -1 && sources > install, 'the packages are installed before the sources are copied')
    const manifest = lines.findIndex(line => /^COPY package\.json package-lock\.json\*? /.test(line))
    t.ok(manifest !== -1 && manifest < install)
    t.match(lines.find(line => /^CMD /.test(line)), /^CMD \[/, 'no shell at its start')
    const context = file.includes('templates') ? dirname(file) : root
    const ignored = read(join(context, '.dockerignore')).split('\n')
    for (const name of ['.env', '.git']) t.ok(ignored.includes(name), `${name} is not in the context`)
    t.end()
  })
}

test('the image of a clone has the manifest of each package before it installs', t => {
  const text = read(join(root, 'examples/deploy/Dockerfile'))
  for (const folder of ['packages', 'apps'].flatMap(kind => readdirSync(join(root, kind)).map(name => `${kind}/${name}`))) {
    if (existsSync(join(root, folder, 'package.json'))) t.ok(text.includes(`\nCOPY ${folder}/package.json ${folder}/\n`), folder)
  }
  t.end()
})

for (const file of composes) {
  test(`${short(file)} has no default password, and starts the host read-only for a user with a number`, t => {
    const text = read(file)
    t.notMatch(text, /allow-unauthenticated/)
    for (const [whole, name = '', mark] of text.matchAll(/\$\{(\w+)([^}]*)\}/g)) if (SECRET.test(name)) t.match(mark, /^:\?./, `${whole} is required`)
    t.notMatch(text.replace(/\$\{[^}]*\}/g, '$'), /:\/\/[^\s:/@]*:[^\s$@]+@/, 'no password in an address')
    const [{ services }] = documents(file)
    for (const [name, service] of Object.entries<any>(services)) {
      for (const [key, value] of Object.entries(service.environment ?? {})) if (SECRET.test(key)) t.match(value, /^\$\{\w+:\?.+\}$/, `${name}: ${key}`)
      for (const port of service.ports ?? []) t.match(port, /^127\.0\.0\.1:/, `${name}: this machine alone reaches ${port}`)
      if (!isOurs(service)) continue
      t.match(service.user, /^[1-9]\d*:[1-9]\d*$/, name)
      t.equal(service.read_only, true, name)
      t.ok([...service.tmpfs ?? [], ...service.volumes ?? []].some((one: string) => /\.polyvac(?::|$)/.test(one)), `${name} has a place for its state`)
      t.match(service.environment.POLYVAC_TOKEN_SHA256, /^\$\{POLYVAC_TOKEN_SHA256:\?/)
    }
    t.end()
  })
}

for (const file of manifests) {
  test(`${short(file)} takes secrets from a Secret that is in no file, and runs as a user with a number`, t => {
    t.notMatch(read(file), /allow-unauthenticated/)
    t.notOk(documents(file).some(({ kind }) => kind === 'Secret'), 'a Secret in a file is a password in a repository')
    for (const pod of podsOf(file)) {
      for (const { env = [], securityContext = {}, volumeMounts = [], command } of pod.containers) {
        for (const { name, value, valueFrom } of env) if (SECRET.test(name) || /DATABASE_URL/.test(name)) t.ok(valueFrom?.secretKeyRef?.name !== undefined && value === undefined, name)
        t.ok(env.some(({ name }: { name: string }) => name === 'POLYVAC_TOKEN_SHA256'))
        t.equal(command[0], 'polyvac')
        // Cloud Run has no security context: the user is that of the image, and its file system is the instance's own
        if (documents(file).some(({ apiVersion }) => String(apiVersion).startsWith('serving.knative.dev/'))) continue
        const { runAsNonRoot, runAsUser } = { ...pod.securityContext, ...securityContext }
        t.ok(runAsNonRoot === true && Number.isInteger(runAsUser) && runAsUser > 0)
        t.match(securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
        const writable = (pod.volumes ?? []).filter((volume: any) => volume.emptyDir !== undefined || volume.persistentVolumeClaim !== undefined).map(({ name }: any) => name)
        for (const path of ['/srv/polyvac/.polyvac', '/tmp']) t.ok(volumeMounts.some((mount: any) => mount.mountPath === path && writable.includes(mount.name)), path)
      }
    }
    t.end()
  })
}

/** What a file starts, with the configuration that it starts with. */
const containers: Container[] = [
  ...dockerfiles.filter(({ isWhole }) => isWhole).map(({ file, text }) => ({
    file, name: 'image', env: {}, command: JSON.parse(/^CMD (\[.*\])$/m.exec(text)![1]!) as string[], config: read(join(dirname(file), 'vac_config.yaml'))
  })),
  ...composes.flatMap(file => Object.entries<any>(documents(file)[0].services).filter(([, service]) => service.command?.[0] === 'polyvac').map(([name, { command }]) => ({
    file, name, env: {}, command: command as string[], config: read(join(dirname(file), 'vac_config.yaml'))
  }))),
  ...manifests.flatMap(file => podsOf(file).flatMap(pod => pod.containers.map(({ name, command, env }: any): Container => ({
    file,
    name,
    command,
    env: Object.fromEntries(env.filter((one: any) => one.value !== undefined).map((one: any) => [one.name, one.value])),
    config: documents(file).find(({ kind }) => kind === 'ConfigMap')?.data['vac_config.yaml'] ?? read(join(dirname(file), 'vac_config.yaml'))
  }))))
]

/** The user of the images, for a process that root starts; undefined where only root can read this checkout. */
const user = process.getuid?.() !== 0
  ? {}
  : spawnSync(process.execPath, ['--version'], { uid: 1000, gid: 1000, cwd: root }).status === 0 ? { uid: 1000, gid: 1000 } : undefined

for (const { file, name, command, env, config = '' } of containers) {
  test(`what ${short(file)} starts (${name}) does not start without a token, and with one refuses callers without it, as a user that may write only to .polyvac`, async t => {
    const folder = t.testdir({ docs: { 'welcome.md': '# Welcome\n\nTo begin, read this page.\n' } })
    // the folder of the documents is the one of the image
    const text = config.replace('path: /srv/polyvac/docs', 'path: ./docs')
    const path = join(folder, 'vac_config.yaml')
    await writeFile(path, text)
    await mkdir(join(folder, '.polyvac'))
    const interpreter = join(dirname(file), 'interpreter.mjs')
    if (existsSync(interpreter)) await cp(interpreter, join(folder, 'interpreter.mjs'))
    const args = command.slice(1).map(one => one === '/etc/polyvac/vac_config.yaml' ? path : one)
    const port = await freePort()
    if (user === undefined) t.comment('only root can read this checkout, so the host starts as root')
    const start = (more: Readonly<Record<string, string>>) => {
      const { DATABASE_URL: _, POLYVAC_TOKEN_SHA256: __, ...rest } = { ...readersEnvironment, ...env }
      const child = spawn(process.execPath, [join(root, 'apps/polyvac/dist/cli.js'), ...args], { cwd: folder, env: { ...rest, PORT: String(port), ...more }, stdio: ['ignore', 'pipe', 'pipe'], ...user })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', piece => { output += String(piece) })
      t.teardown(() => { child.kill('SIGKILL') })
      return { child, ended: once(child, 'close'), output: () => output }
    }
    for (const more of [{}, { POLYVAC_TOKEN_SHA256: '' }]) {
      const { code, stdout, stderr } = await runPolyvac(args, folder, { env: { ...env, DATABASE_URL: '', PORT: String(port), ...more } })
      t.not(code, 0, stdout + stderr)
      t.match(stdout + stderr, /POLYVAC_TOKEN_SHA256 is not set: set it to the sha256 that polyvac token prints|0\.0\.0\.0 is reachable from other machines, and callers are not authenticated; set service\.auth/)
    }
    if (!text.includes('POLYVAC_TOKEN_SHA256')) await writeFile(path, text.replace('service:\n', `service:\n  auth:\n    tokens:\n      - { owner: me, sha256: ${HASH}, scopes: ["vac:*"] }\n`))
    // as in the image: the tree is read-only but for .polyvac, and the user is not root
    if (user?.uid !== undefined) await chown(join(folder, '.polyvac'), user.uid, user.gid)
    for (const path of [join(folder, 'docs'), folder]) await chmod(path, 0o555)
    const { child, ended, output } = start({ POLYVAC_TOKEN_SHA256: HASH })
    const url = `http://127.0.0.1:${port}`
    const statusOf = async (path: string, headers: Record<string, string> = {}): Promise<number> => await fetch(`${url}${path}`, { headers }).then(({ status }) => status, () => 0)
    await until(async () => { if (child.exitCode !== null) throw new Error(output()); return await statusOf('/health') === 200 }, 'it is healthy')
    t.strictSame([await statusOf('/vac'), await statusOf('/vac', { authorization: 'Bearer wrong' }), await statusOf('/vac', { authorization: `Bearer ${TOKEN}` })], [401, 401, 200])
    child.kill('SIGTERM')
    await ended
    t.equal(child.exitCode, 0, output())
    // the folder is removed after the test
    for (const path of [folder, join(folder, 'docs')]) await chmod(path, 0o755)
  })
}

test('the configurations of the examples have no token and no hash', t => {
  for (const file of new Set(containers.map(({ config = '' }) => config))) {
    t.notMatch(file, /sha256: ["']?[\da-f]{64}/)
    t.ok(parseConfig(file, '/srv/polyvac/vac_config.yaml', { env: { POLYVAC_TOKEN_SHA256: HASH } }))
  }
  t.end()
})
