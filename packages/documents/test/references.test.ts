import { test } from 'tap'
import { refersBack } from '../src/search/references.js'

const REFERRING = `When is it closed? | What about the other one? | And for children? | how long? | why? | Price? | Und im Winter? | Et le dimanche ? |
¿y para niños? | how much is it | Can I cancel it and get my money back? | and how do I stop it? | How many of them can we have? |
how many can be on it at once? | Wann findet die statt? | und Zeitschriften? | Et la deuxième ? | et Maison ? |
¿cuándo se cierra para limpiarla? | ¿y una corona? | ¿Con cuánta antelación hay que hacerlo? | Wie teuer ist das? |
Was kostet das für Kinder? | Wo steht er? | Kann man es stornieren? | Quand ouvre-t-elle ? | Comment la résilier ? | Puis-je l'annuler ? |
Combien ça coûte ? | Quel est son prix ? | ¿Cuánto cuesta? | ¿Cuándo cierra? | ¿Se puede cancelar? | ¿Dónde está? | for two people? |
On Sundays? | What else can I bring? | How do I get there? | Does that include breakfast? | Is this also true for guests? |
What happens after that? | And then? | How does one get them? | Who is he? | Where can I buy one of those? | Which one is cheaper? |
Für Senioren? | Im Winter? | Wie lange dauert sie? | Muss ich mich dafür anmelden? | Und wenn es regnet? | Warum? | Pourquoi ? | ¿Por qué? |
Pour les enfants ? | Para niños? | Quanto costa? | E para crianças? | En op zondag? | Wat kost het? | А зимой? | Сколько он стоит? | 那周日呢？ |
它多少钱？ | 日曜日は？ | それはいくらですか | Is it free? | What does it mean? | where is it | who can use it | How long does it take? |
Is that possible on a phone?`
const ALONE = `Where is the defibrillator? | how do i resign | Was kostet das Wachsen? | When does the bar open on Saturdays? | How do I send a task? |
Are dogs allowed? | How long is the guarantee? | how to do a factory reset | Gibt es Nachlass für Geschwister? |
Wann ist am Samstag geöffnet? | Was kostet eine Fernleihe? | Quand passe le bus ? | combien coute une signature ? | comment résilier |
¿Qué fianza tienen las cabañas? | ¿Abren los sábados? | ¿Cuál es el teléfono de la directora? | Facturanet gère-t-il les fiches de paie ? |
Quand la piscine ouvre-t-elle le samedi ? | Is it possible to pay by card? | How long does it take to renew a passport? |
How do I restart the router when it is stuck? | If I lose my card, how do I block it? | Is there a lift? | Are there lockers? |
What is tack? | Can I bring my dog? | Wie kündige ich? | wann ist die kasse offen | Ist es möglich, mit Karte zu zahlen? |
Was passiert, wenn der Router blinkt und er nicht startet? | Darf ich den Hund mitnehmen? | Wo finde ich die neuen Preise? |
Y a-t-il un parking ? | Faut-il réserver une place ? | Où est le parking ? | ou est la piscine | En qué horario abre la oficina? |
Où puis-je garer ma voiture ? | ¿Hay que reservar una mesa? | ¿Dónde aparco? | ¿Cómo me doy de baja? | Wat kost een kaartje? |
Waar is de ingang? | Dove si paga il biglietto? | Quanto costa il biglietto? | O que é o cartão verde? | Onde fica a entrada? |
Wie is de voorzitter? | Когда открыт бассейн? | 食堂几点开门？ | 食堂は何時に開きますか | Who is the treasurer? | Which plan includes backups? |
Is there a plan that includes backups? | When does this year's course start? | Who pays for the repairs? | factory reset | opening hours |
password reset mail | What is the fee for someone else's boat? | Do members get a discount if they pay early? | Can you park there is a sign |
Wer ist der Vorsitzende? | Welche Linie fährt zum Bahnhof? | Muss das Fahrrad angeschlossen werden? | Kann ich die Miete in Raten zahlen?`

const read = (list: string): string[] => list.split('|').map(question => question.trim())

test('a pronoun without a noun of its own, "and …", and a question without a word of its own refer to the turn before', t => {
  for (const question of read(REFERRING)) t.equal(refersBack(question), true, question)
  t.equal(refersBack('E la domenica?', 'Quando è aperta la piscina?'), true)
  t.end()
})

test('a question with a subject of its own does not, in whatever language', t => {
  for (const question of read(ALONE)) t.equal(refersBack(question), false, question)
  t.equal(refersBack(`Where do I find the key of the ${'very long '.repeat(200)}corridor?`), false)
  t.end()
})
