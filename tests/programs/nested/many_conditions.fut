-- An operator that gives one of its operands, after more conditions than are looked at as trees: each stands on those before.
-- ==
-- input { 9i64 } output { [0i64, 1, 2, 3] }
-- input { 0i64 } output { empty([0]i64) }
entry main (n: i64) : []i64 =
  let longest (a: []i64) (b: []i64) =
    let r0 = if length a >= length b then a else b
    let r1 = if length a + length b == 5001 then a else r0
    let r2 = if length a + length b == 5002 then a else (if length b == 6002 then r0 else r1)
    let r3 = if length a + length b == 5003 then a else r2
    let r4 = if length a + length b == 5004 then a else (if length b == 6004 then r2 else r3)
    let r5 = if length a + length b == 5005 then a else r4
    let r6 = if length a + length b == 5006 then a else (if length b == 6006 then r4 else r5)
    let r7 = if length a + length b == 5007 then a else r6
    let r8 = if length a + length b == 5008 then a else (if length b == 6008 then r6 else r7)
    let r9 = if length a + length b == 5009 then a else r8
    let r10 = if length a + length b == 5010 then a else (if length b == 6010 then r8 else r9)
    let r11 = if length a + length b == 5011 then a else r10
    let r12 = if length a + length b == 5012 then a else (if length b == 6012 then r10 else r11)
    let r13 = if length a + length b == 5013 then a else r12
    let r14 = if length a + length b == 5014 then a else (if length b == 6014 then r12 else r13)
    let r15 = if length a + length b == 5015 then a else r14
    let r16 = if length a + length b == 5016 then a else (if length b == 6016 then r14 else r15)
    let r17 = if length a + length b == 5017 then a else r16
    let r18 = if length a + length b == 5018 then a else (if length b == 6018 then r16 else r17)
    let r19 = if length a + length b == 5019 then a else r18
    let r20 = if length a + length b == 5020 then a else (if length b == 6020 then r18 else r19)
    let r21 = if length a + length b == 5021 then a else r20
    let r22 = if length a + length b == 5022 then a else (if length b == 6022 then r20 else r21)
    let r23 = if length a + length b == 5023 then a else r22
    let r24 = if length a + length b == 5024 then a else (if length b == 6024 then r22 else r23)
    let r25 = if length a + length b == 5025 then a else r24
    let r26 = if length a + length b == 5026 then a else (if length b == 6026 then r24 else r25)
    let r27 = if length a + length b == 5027 then a else r26
    let r28 = if length a + length b == 5028 then a else (if length b == 6028 then r26 else r27)
    let r29 = if length a + length b == 5029 then a else r28
    let r30 = if length a + length b == 5030 then a else (if length b == 6030 then r28 else r29)
    let r31 = if length a + length b == 5031 then a else r30
    let r32 = if length a + length b == 5032 then a else (if length b == 6032 then r30 else r31)
    let r33 = if length a + length b == 5033 then a else r32
    let r34 = if length a + length b == 5034 then a else (if length b == 6034 then r32 else r33)
    let r35 = if length a + length b == 5035 then a else r34
    let r36 = if length a + length b == 5036 then a else (if length b == 6036 then r34 else r35)
    let r37 = if length a + length b == 5037 then a else r36
    let r38 = if length a + length b == 5038 then a else (if length b == 6038 then r36 else r37)
    let r39 = if length a + length b == 5039 then a else r38
    let r40 = if length a + length b == 5040 then a else (if length b == 6040 then r38 else r39)
    let r41 = if length a + length b == 5041 then a else r40
    let r42 = if length a + length b == 5042 then a else (if length b == 6042 then r40 else r41)
    let r43 = if length a + length b == 5043 then a else r42
    let r44 = if length a + length b == 5044 then a else (if length b == 6044 then r42 else r43)
    let r45 = if length a + length b == 5045 then a else r44
    let r46 = if length a + length b == 5046 then a else (if length b == 6046 then r44 else r45)
    let r47 = if length a + length b == 5047 then a else r46
    let r48 = if length a + length b == 5048 then a else (if length b == 6048 then r46 else r47)
    let r49 = if length a + length b == 5049 then a else r48
    let r50 = if length a + length b == 5050 then a else (if length b == 6050 then r48 else r49)
    let r51 = if length a + length b == 5051 then a else r50
    let r52 = if length a + length b == 5052 then a else (if length b == 6052 then r50 else r51)
    let r53 = if length a + length b == 5053 then a else r52
    let r54 = if length a + length b == 5054 then a else (if length b == 6054 then r52 else r53)
    let r55 = if length a + length b == 5055 then a else r54
    let r56 = if length a + length b == 5056 then a else (if length b == 6056 then r54 else r55)
    let r57 = if length a + length b == 5057 then a else r56
    let r58 = if length a + length b == 5058 then a else (if length b == 6058 then r56 else r57)
    let r59 = if length a + length b == 5059 then a else r58
    let r60 = if length a + length b == 5060 then a else (if length b == 6060 then r58 else r59)
    let r61 = if length a + length b == 5061 then a else r60
    let r62 = if length a + length b == 5062 then a else (if length b == 6062 then r60 else r61)
    let r63 = if length a + length b == 5063 then a else r62
    let r64 = if length a + length b == 5064 then a else (if length b == 6064 then r62 else r63)
    let r65 = if length a + length b == 5065 then a else r64
    let r66 = if length a + length b == 5066 then a else (if length b == 6066 then r64 else r65)
    let r67 = if length a + length b == 5067 then a else r66
    let r68 = if length a + length b == 5068 then a else (if length b == 6068 then r66 else r67)
    let r69 = if length a + length b == 5069 then a else r68
    let r70 = if length a + length b == 5070 then a else (if length b == 6070 then r68 else r69)
    let r71 = if length a + length b == 5071 then a else r70
    let r72 = if length a + length b == 5072 then a else (if length b == 6072 then r70 else r71)
    let r73 = if length a + length b == 5073 then a else r72
    let r74 = if length a + length b == 5074 then a else (if length b == 6074 then r72 else r73)
    let r75 = if length a + length b == 5075 then a else r74
    let r76 = if length a + length b == 5076 then a else (if length b == 6076 then r74 else r75)
    let r77 = if length a + length b == 5077 then a else r76
    let r78 = if length a + length b == 5078 then a else (if length b == 6078 then r76 else r77)
    let r79 = if length a + length b == 5079 then a else r78
    let r80 = if length a + length b == 5080 then a else (if length b == 6080 then r78 else r79)
    let r81 = if length a + length b == 5081 then a else r80
    let r82 = if length a + length b == 5082 then a else (if length b == 6082 then r80 else r81)
    let r83 = if length a + length b == 5083 then a else r82
    let r84 = if length a + length b == 5084 then a else (if length b == 6084 then r82 else r83)
    let r85 = if length a + length b == 5085 then a else r84
    let r86 = if length a + length b == 5086 then a else (if length b == 6086 then r84 else r85)
    let r87 = if length a + length b == 5087 then a else r86
    let r88 = if length a + length b == 5088 then a else (if length b == 6088 then r86 else r87)
    let r89 = if length a + length b == 5089 then a else r88
    let r90 = if length a + length b == 5090 then a else (if length b == 6090 then r88 else r89)
    let r91 = if length a + length b == 5091 then a else r90
    let r92 = if length a + length b == 5092 then a else (if length b == 6092 then r90 else r91)
    let r93 = if length a + length b == 5093 then a else r92
    let r94 = if length a + length b == 5094 then a else (if length b == 6094 then r92 else r93)
    let r95 = if length a + length b == 5095 then a else r94
    let r96 = if length a + length b == 5096 then a else (if length b == 6096 then r94 else r95)
    let r97 = if length a + length b == 5097 then a else r96
    let r98 = if length a + length b == 5098 then a else (if length b == 6098 then r96 else r97)
    let r99 = if length a + length b == 5099 then a else r98
    let r100 = if length a + length b == 5100 then a else (if length b == 6100 then r98 else r99)
    let r101 = if length a + length b == 5101 then a else r100
    let r102 = if length a + length b == 5102 then a else (if length b == 6102 then r100 else r101)
    let r103 = if length a + length b == 5103 then a else r102
    let r104 = if length a + length b == 5104 then a else (if length b == 6104 then r102 else r103)
    let r105 = if length a + length b == 5105 then a else r104
    let r106 = if length a + length b == 5106 then a else (if length b == 6106 then r104 else r105)
    let r107 = if length a + length b == 5107 then a else r106
    let r108 = if length a + length b == 5108 then a else (if length b == 6108 then r106 else r107)
    let r109 = if length a + length b == 5109 then a else r108
    let r110 = if length a + length b == 5110 then a else (if length b == 6110 then r108 else r109)
    let r111 = if length a + length b == 5111 then a else r110
    let r112 = if length a + length b == 5112 then a else (if length b == 6112 then r110 else r111)
    let r113 = if length a + length b == 5113 then a else r112
    let r114 = if length a + length b == 5114 then a else (if length b == 6114 then r112 else r113)
    let r115 = if length a + length b == 5115 then a else r114
    let r116 = if length a + length b == 5116 then a else (if length b == 6116 then r114 else r115)
    let r117 = if length a + length b == 5117 then a else r116
    let r118 = if length a + length b == 5118 then a else (if length b == 6118 then r116 else r117)
    let r119 = if length a + length b == 5119 then a else r118
    let r120 = if length a + length b == 5120 then a else (if length b == 6120 then r118 else r119)
    let r121 = if length a + length b == 5121 then a else r120
    let r122 = if length a + length b == 5122 then a else (if length b == 6122 then r120 else r121)
    let r123 = if length a + length b == 5123 then a else r122
    let r124 = if length a + length b == 5124 then a else (if length b == 6124 then r122 else r123)
    let r125 = if length a + length b == 5125 then a else r124
    let r126 = if length a + length b == 5126 then a else (if length b == 6126 then r124 else r125)
    let r127 = if length a + length b == 5127 then a else r126
    let r128 = if length a + length b == 5128 then a else (if length b == 6128 then r126 else r127)
    let r129 = if length a + length b == 5129 then a else r128
    let r130 = if length a + length b == 5130 then a else (if length b == 6130 then r128 else r129)
    in r130
  in fold longest [] (map (\i -> iota (i % 5 % 4 + i % 5 / 4)) (iota n))
