"""Words that tell who a pronoun may stand for: common first names, titles and nouns for people."""

from __future__ import annotations

MALE = frozenset(
    """aaron abdul adam adrian ahmed aiden alan albert alec alejandro alexander alfie alfred ali allan allen alvin andre andrea
    andreas andres andrew andy angelo angus anthony antonio archie arnold arthur arsene asher austin barack barry
    bart ben benjamin bernard bernie bert bill billy blake bob bobby boris brad bradley brandon brendan brendon brett
    brian bruce bruno bryan byron calum cameron carl carlo carlos cedric cesc chad charles charlie chester chris
    christian christopher clarence claude clifford clint clive colin conor connor conrad cory craig cristiano curtis
    cyril damian damien dan daniel danny darren dave david dean declan dennis derek desmond diego dimitri dirk dominic
    don donald doug douglas duncan dustin dwight dylan eddie edgar edmund eduardo edward edwin eli elijah elliot ellis
    elton enrique eric erik ernest ernie ethan eugene evan felipe felix fernando finn floyd francis francisco frank
    frankie franklin fred freddie frederick gareth gary gavin geoff geoffrey george gerald gerard gerry gilbert giles
    glen glenn gordon graeme graham grant greg gregory guillermo gus guy hamish hamza harold harrison harry harvey
    hassan hector henry herbert howard hugh hugo ian ibrahim igor isaac ivan jack jacob jake jamal james jamie jared
    jason javier jay jeff jeffrey jeremy jerome jerry jesse jesus jim jimmy joe joel joey john johnny jon jonathan
    jordan jorge jose joseph josh joshua juan julian julio justin karl keith ken kenneth kenny kevin khalid kurt
    kyle lance larry lee len leo leon leonard leonardo lewis liam lionel logan louis luca lucas luis luke malcolm
    manuel marc marcel marco marcus mario mark marlon martin marvin mason mateo matt matteo matthew maurice
    mauricio max maxwell mehmet michael michel miguel mike mikel milan mitchell mo mohamed mohammad mohammed muhammad
    murray nathan nathaniel neil neville nicholas nick nicolas nigel noah noel norman oleg oliver ollie omar oscar otto
    owen pablo patrick paul paulo pedro pete peter phil philip phillip pierre piers rafael raheem ralph ramon randy raul
    ray raymond reece reggie rex ricardo richard rick ricky rob robert roberto robin rod roger roland roman ron
    ronald ronnie rory ross roy rupert russell ryan salman sam samir samuel scott sean sebastian sergei sergio seth
    shane shaun shawn sidney silvio simon spencer stan stanley stefan stephen steve steven stewart stuart ted terence
    terry theo theodore thomas tim timothy toby todd tom tommy tony travis trevor tristan troy tyler tyrone victor
    vincent vladimir wallace walter warren wayne wes wesley wilfred will william willie winston xavier yusuf zac zach
    zachary""".split()
)
FEMALE = frozenset(
    """abbie abby abigail ada adele adriana agnes aisha alana alexandra alexis alice alicia alison allison alyssa
    amanda amber amelia amelie amie amina amy ana anastasia andie angela angelina angie anita ann anna annabel anne
    annette annie april ariana ashley astrid audrey ava barbara beatrice becky bella bernadette beryl bessie beth
    bethany betty beverley beyonce bianca bonnie brenda bridget britney brittany brooke caitlin camilla candice cara
    carla carly carmen carol carole caroline carolyn carrie cassandra catherine cathy cecilia celeste celia charlene
    charlotte chelsea cher cheryl chloe christina christine cindy claire clara claudia coleen colleen connie cora
    courtney crystal cynthia daisy dana daniela danielle daphne dawn debbie deborah debra deirdre delia denise diana
    diane dolly dolores donna dora doris dorothy edith edna eileen elaine eleanor elena elisa elisabeth eliza elizabeth
    ella ellen ellie elsa elsie emilia emily emma erica erin estelle esther ethel eva eve evelyn faith fatima felicity
    fern fiona flora florence frances freya gabriella gabrielle gail gemma georgia georgina geraldine gertrude gigi
    gillian gina ginny giovanna gisele glenda gloria grace greta gwen gwyneth hailey hannah harriet hazel heather heidi
    helen helena henrietta hilary hillary holly hope ida imogen ines ingrid irene iris isabel isabella isabelle isla
    ivanka ivy jacqueline jade jan jane janet janice jasmine jayne jean jenna jennifer jenny jessica jill joan joanna
    joanne jodie josephine josie joy joyce juanita judith judy julia juliana julie juliet june karen karina kate
    katherine kathleen kathryn kathy katie katrina kay kayla keira kelly kendall kendra kerry khloe kim kimberly kirsten
    kirsty kourtney kristen kristina kylie lana lara laura lauren leah leanne lena leslie lexi lily linda lindsay lindsey
    lisa liz liza lola lorna lorraine louisa louise lucia lucinda lucy lydia lynda lynn mabel madeleine madeline madison
    madonna maggie malala mandy margaret margot maria mariah marie marilyn marina marion marjorie marlene martha mary
    matilda maureen mavis maya megan melanie melinda melissa mia michaela michelle mildred millie mimi miranda miriam
    moira molly mona monica monika muriel myra nadia nadine nancy naomi natalia natalie natasha nell nicola nicole nina nora
    olga olive olivia pamela patricia paula pauline pearl peggy penelope penny petra phoebe phyllis pippa polly priscilla
    rachel ramona rebecca renee rhiannon rihanna rita roberta rosa rosalind rose rosemary rosie roxanne ruby ruth sabrina
    sadie sally samantha sandra sara sarah scarlett selena serena shannon sharon sheila shelley sheryl shirley sienna
    silvia simone sofia sonia sophia sophie stacey stella stephanie sue summer susan susanna suzanne sybil sylvia tamara
    tania tanya tara tatiana teresa tess tessa theresa tina tracey tracy una ursula valentina valerie vanessa vera
    veronica vicky victoria viola violet virginia vivian wendy whitney wilma winifred yasmin yolanda yvette yvonne zara zoe
    zoey""".split()
)
MALE_NOUNS = frozenset(
    """man boy father dad son brother husband grandfather uncle nephew king prince lord actor businessman frenchman
    dutchman englishman irishman scotsman welshman spaniard sportsman footballer fisherman fireman policeman chairman
    spokesman gentleman boyfriend mr sir striker midfielder defender goalkeeper winger waiter monk pope bishop
    councilman congressman salesman guy bloke lad""".split()
)
FEMALE_NOUNS = frozenset(
    """woman girl mother mum mom daughter sister wife grandmother aunt niece queen princess lady actress businesswoman
    chairwoman spokeswoman girlfriend mrs ms miss madam dame duchess nun policewoman waitress congresswoman housewife
    mother-of-two mother-of-three widow heiress hostess""".split()
)
PERSON_NOUNS = frozenset(
    """teenager student teacher driver doctor singer star player coach manager boss president chancellor minister
    senator mayor judge officer victim suspect defendant patient toddler baby child kid teen pensioner author artist
    chef designer model presenter host comedian politician lawyer attorney soldier pilot nurse farmer owner seller
    buyer director ceo founder executive professor scientist researcher expert writer journalist reporter editor
    photographer musician rapper dancer swimmer runner boxer golfer cyclist champion captain forward veteran
    employee worker customer passenger neighbour neighbor friend partner cousin twin parent adult resident citizen
    person youngster prisoner inmate killer murderer attacker gunman thief robber burglar celebrity dr youngster
    chairman leader chief head jogger shopper surfer hiker climber skier diver secretary""".split()
)
#: Capitalised words that are never people.
TIMES_AND_PLACES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter premier league fa cup world champions united city university
    court hospital club street road police department committee council agency company party airport stadium park
    school college church association house centre center institute bank government parliament congress england
    britain france germany spain italy north south east west northern southern eastern western new
    county city russia china america australia scotland wales ireland london paris""".split()
)
#: Nouns that pick out the person spoken of when a definite subject: "the striker", "the 22-year-old".
ROLES = frozenset(
    """striker midfielder defender goalkeeper keeper winger forward playmaker jockey driver cyclist golfer boxer
    actress actor singer rapper comedian presenter dutchman frenchman englishman spaniard irishman scotsman welshman
    argentine brazilian german american australian italian briton star footballer captain manager boss coach
    columnist author novelist model musician swimmer sprinter champion veteran
    international co-captain vice-captain skipper all-rounder batsman bowler fly-half centre-back frontman""".split()
)
